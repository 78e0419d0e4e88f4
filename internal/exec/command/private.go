package command

import (
	"context"
	"slices"
	"strings"
)

// Private maps the paths of an owner's commands: where mounts hold, their /tmp and /var/tmp are the
// owner's folder for temporary files.
type Private struct {
	commands *Commands
	owner    string
}

// Private returns the mapping for an owner.
func (c *Commands) Private(owner string) *Private { return &Private{c, owner} }

// Real returns the path of a file that commands find at path. What they may use below the folders
// for temporary files, such as a root, is at the same path.
func (p *Private) Real(path string) string {
	c, folder := p.commands, holding(path, temporaryFolders)
	switch {
	case folder == "" || p.Owns(path) || slices.ContainsFunc(c.config.Roots, func(root string) bool { return inside(path, root) }):
		return path
	case c.Uncontained(context.Background()) != nil, !c.Report(context.Background()).Write.Coverage.Mounts:
		return path
	}
	allowed := c.policy(nil, false, "")
	if holding(path, slices.Concat(allowed.Write, allowed.Read)) != "" {
		return path
	}
	temp, err := c.temp.of(p.owner)
	if err != nil {
		return path
	}
	return temp + strings.TrimPrefix(path, folder)
}

// Owns reports whether a canonical path is in the owner's folder for temporary files.
func (p *Private) Owns(path string) bool {
	folder := p.commands.temp.existing(p.owner)
	return folder != "" && inside(path, folder)
}
