package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/sandbox"
)

// writable is the folders that commands may write to and read, whatever they
// are: the roots and what the settings allow, none in another. They are found
// once: what a command may write to it can replace by a link, so none of them is
// taken from within another, and none is followed anew later.
func writable(c Config) []string {
	var all []string
	for _, path := range slices.Concat(c.Roots, c.AllowWrite) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		} else {
			all = append(all, filepath.Clean(path)) // it may be made later
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(a) - len(b) })
	var out []string
	for _, path := range all {
		if !slices.ContainsFunc(out, func(w string) bool { return inside(path, w) }) {
			out = append(out, path)
		}
	}
	return out
}

// standing is an error if one of the writable folders is not what it was: a
// link was put on its path.
func (c *Commands) standing() error {
	for _, path := range c.writable {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case os.IsNotExist(err):
		case err != nil:
			return fmt.Errorf("looking at a folder that commands may write to: %w", err)
		case !samePath(real, path):
			return fmt.Errorf("%s, which commands may write to, leads to %s now; make it a folder again, or start the server anew", plain.Line(path), plain.Line(real))
		}
	}
	return nil
}

// inWritable reports whether a path, as it is written or as it is, lies in what
// commands may write to.
func (c *Commands) inWritable(path string) bool { return c.writes(path, resolved(path)) }

// writes is inWritable of a path and what it resolves to.
func (c *Commands) writes(path, real string) bool {
	return slices.ContainsFunc(c.writable, func(w string) bool { return inside(path, w) || inside(real, w) })
}

// Caches are the folders of toolchains that commands may write to, beside the
// roots. One in a root is written to with that, and grants nothing else.
func (c *Commands) Caches() []sandbox.Cache {
	if info, err := os.Stat(c.config.Home); c.config.NoCaches || err != nil || !info.IsDir() || filepath.Clean(c.config.Home) == "/" {
		return nil
	}
	return slices.DeleteFunc(sandbox.Caches(c.config.Home, c.variable), func(cache sandbox.Cache) bool { return c.inWritable(cache.Path) })
}

// Beyond is the folders outside of the roots that commands may read and write
// by the settings, and those that they may only read.
func (c *Commands) Beyond() (readable, writable []string) {
	for _, cache := range c.Caches() {
		readable = append(readable, cache.Path)
	}
	for _, path := range c.config.AllowRead {
		readable = append(readable, filepath.Clean(path))
	}
	for _, path := range c.config.AllowWrite {
		writable = append(writable, filepath.Clean(path))
	}
	return readable, writable
}
