package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/text/plain"
)

// writable returns the folders that commands may always write to and read: the
// roots and those of the settings, none inside another. Commands can replace files
// in a writable folder by links. So the folders are resolved once, never from
// within another one, and never followed again later.
func writable(c Config) []string {
	var all []string
	for _, path := range slices.Concat(c.Roots, c.AllowWrite) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		} else {
			all = append(all, filepath.Clean(path)) // the folder may be made later
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

// standing returns an error if a writable folder now leads elsewhere because a link was
// put on its path.
func (c *Commands) standing(at *Workspace) error {
	folders, _ := c.writableAt(at)
	for _, path := range folders {
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

// inWritable reports whether a path, as written or with links resolved, is in a folder
// that commands may write to.
func (c *Commands) inWritable(path string) bool { return c.writes(path, resolved(path)) }

// writes is inWritable for a path and its resolved form.
func (c *Commands) writes(path, real string) bool {
	return slices.ContainsFunc(c.mayWrite(), func(w string) bool { return inside(path, w) || inside(real, w) })
}

// Caches returns the caches of toolchains that commands may write to in addition to the
// roots. It omits caches in a writable folder, which need no right of their own.
func (c *Commands) Caches() []sandbox.Cache {
	if info, err := os.Stat(c.config.Home); c.config.NoCaches || err != nil || !info.IsDir() || filepath.Clean(c.config.Home) == "/" {
		return nil
	}
	return slices.DeleteFunc(sandbox.Caches(c.config.Home, c.variable), func(cache sandbox.Cache) bool { return c.inWritable(cache.Path) })
}

// Beyond returns the folders outside of the roots that the settings let commands
// access: readable lists those they may only read, with the caches, and writable those
// they may also change.
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
