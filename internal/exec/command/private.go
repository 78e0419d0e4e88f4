package command

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/internal/exec/sandbox"
)

// Private maps the paths of an owner's commands: where mounts hold, their /tmp and /var/tmp are the
// owner's folder for temporary files.
type Private struct {
	commands *Commands
	owner    string
	once     sync.Once
	layer    *readLayer // set by once

	onceLayers sync.Once
	overs      []over // set by onceLayers
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

// Layered returns where the file is that commands find at path: in a layer over a cache, or at path
// itself. An absent file belongs to the layer that alone has its folder. merged is true for a folder
// of a cache to which a layer adds files.
func (p *Private) Layered(path string) (at string, merged bool) {
	path = filepath.Clean(path)
	missing := ""
	for _, over := range p.layers() {
		rest, ok := strings.CutPrefix(path, over.cache)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		at := over.upper + rest
		switch info, err := os.Lstat(at); {
		case err != nil && rest != "" && isFolder(filepath.Dir(at)) && !isFolder(filepath.Dir(path)):
			missing = at
		case err != nil, info.Mode()&os.ModeDevice != 0: // a removed file is a device
		case info.IsDir() && isFolder(path):
			if entries, _ := os.ReadDir(path); len(entries) == 0 {
				return at, false
			}
			entries, _ := os.ReadDir(at)
			merged = merged || len(entries) > 0
		default:
			return at, false
		}
	}
	return cmp.Or(missing, path), merged
}

// LayerFolders returns the folders of the layers that Layered may lead to.
func (p *Private) LayerFolders() (out []string) {
	for _, over := range p.layers() {
		out = append(out, over.upper)
	}
	return out
}

// over is the folder of a layer that holds the changes below a cache.
type over struct{ cache, upper string }

// layers returns the layers over caches that commands of this workspace see, and that exist.
func (p *Private) layers() []over {
	p.onceLayers.Do(func() {
		c := p.commands
		viewed := c.viewed()
		if len(viewed) == 0 || c.Uncontained(context.Background()) != nil || !c.Report(context.Background()).Write.Coverage.Layers {
			return
		}
		for _, cache := range c.Caches() {
			real := resolved(cache.Path)
			for _, layer := range viewed {
				upper := resolved(sandbox.InLayer(layer, real))
				if !isFolder(upper) {
					continue
				}
				p.overs = append(p.overs, over{real, upper})
				if real != cache.Path {
					p.overs = append(p.overs, over{cache.Path, upper})
				}
			}
		}
	})
	return p.overs
}

// Shown replaces the paths of temporary files and of layers over caches in a text by the paths that
// the owner's commands use for them.
func (p *Private) Shown(text string) string {
	if strings.Contains(text, resolved(p.commands.Layers())) {
		for _, over := range p.layers() {
			text = strings.ReplaceAll(text, over.upper, over.cache)
		}
	}
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
