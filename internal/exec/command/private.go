package command

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Private maps the paths of an owner's commands: where mounts hold, their /tmp and /var/tmp are the
// owner's folder for temporary files.
type Private struct {
	commands *Commands
	owner    string
	once     sync.Once
	layer    *readLayer // set by once
}

// Private returns the mapping for an owner.
func (c *Commands) Private(owner string) *Private { return &Private{commands: c, owner: owner} }

// Real returns the path of a file that commands find at path. What they may use below the folders
// for temporary files, such as a root, is at the same path. So is a file of the machine, which the
// user may let a call read, while the owner has none at this path, unless made reports that the
// call makes one; and what is in a folder that only the machine has.
func (p *Private) Real(path string, made bool) string {
	c, folder := p.commands, holding(path, temporaryFolders)
	closed := append([]string{c.config.State, c.config.Home, c.config.Worktrees}, c.config.Roots...)
	switch {
	case folder == "" || p.Owns(path) || slices.ContainsFunc(closed, func(dir string) bool { return dir != "" && (inside(path, dir) || inside(path, resolved(dir))) }):
		return path
	case !p.mounted():
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
	own := temp + strings.TrimPrefix(path, folder)
	switch above := filepath.Dir(path); {
	case path == folder || exists(own):
		return own
	case !made && exists(path), above != folder && !exists(filepath.Dir(own)) && exists(above):
		return path
	}
	return own
}

// mounted reports whether the owner's commands have a /tmp of their own.
func (p *Private) mounted() bool {
	c := p.commands
	return c.Uncontained(context.Background()) == nil && c.Report(context.Background()).Write.Coverage.Mounts
}

// Shown returns a text in which the owner's folder for temporary files has the name that it has
// for commands.
func (p *Private) Shown(text string) string {
	folder := p.commands.temp.existing(p.owner)
	if folder == "" || !strings.Contains(text, folder) || !p.mounted() {
		return text
	}
	return strings.ReplaceAll(text, folder, temporaryFolders[0])
}

// Owns reports whether a canonical path is in the owner's folder for temporary files.
func (p *Private) Owns(path string) bool {
	folder := p.commands.temp.existing(p.owner)
	return folder != "" && inside(path, folder)
}
