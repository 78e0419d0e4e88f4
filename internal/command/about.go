package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/sandbox"
)

// About is what a person may want to know of how commands are started, beside
// what Report saw of the containment. Paths are absolute.
type About struct {
	Mode       Mode
	Shell      string // "": there is none
	Language   Language
	Roots      []string
	AllowRead  []string
	AllowWrite []string
	Offline    bool
	Caches     []sandbox.Cache
	Layers     string // the folder of this workspace's layers over them
	// Hidden is what of the home folder no command may read; names of files and
	// folders, of which few exist.
	Hidden []string
	// Protected are the names in each root that no command may change, and
	// further files.
	Protected []string
	// Temp is where folders for temporary files are made, as a pattern; Output
	// is where what commands print is kept.
	Temp, Output string
}

// About says how commands are started. It starts nothing, and reads the names
// in the home folder.
func (c *Commands) About() About {
	a := About{
		Mode: c.config.Sandbox, Shell: c.shell, Language: c.Language(), Roots: c.config.Roots, AllowRead: c.config.AllowRead, AllowWrite: c.config.AllowWrite,
		Offline: c.config.Offline, Caches: c.Caches(), Layers: c.Layers(), Protected: slices.Concat(protectedNames, c.config.Protected),
		Temp: filepath.Join(os.TempDir(), tempPrefix+"*"), Output: filepath.Join(c.config.State, "output"),
	}
	if c.config.Home == "" {
		return a
	}
	_, secret := sandbox.Readable(c.config.Home, nil)
	home := resolved(c.config.Home)
	for _, path := range secret {
		if inside(path, home) {
			a.Hidden = append(a.Hidden, path)
		}
	}
	return a
}

// resolved is a path with its links resolved, or the path where that cannot be.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// samePath reports whether two clean paths are the same.
func samePath(a, b string) bool { return a == b || onWindows && strings.EqualFold(a, b) }
