package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/sandbox"
)

// About describes how commands are started, for the user. Report holds the observed
// properties of the sandbox. Paths are absolute.
type About struct {
	Mode       Mode
	Shell      string // "": none
	Language   Language
	Roots      []string
	AllowRead  []string
	AllowWrite []string
	Network    NetworkMode
	Caches     []sandbox.Cache
	Layers     string // folder of this workspace's layers over the caches
	// Hidden lists the paths in the home folder that no command may read. Few of them
	// exist.
	Hidden []string
	// Protected lists the names in each root that no command may change, and further
	// files.
	Protected []string
	// Temp is the pattern of the folders for temporary files, and Output the folder of
	// output logs.
	Temp, Output string
}

// About describes how commands are started. It starts nothing and reads only the names
// in the home folder.
func (c *Commands) About() About {
	a := About{
		Mode: c.config.Sandbox, Shell: c.shell, Language: c.Language(), Roots: c.config.Roots, AllowRead: c.config.AllowRead, AllowWrite: c.config.AllowWrite,
		Network: c.config.Network, Caches: c.Caches(), Layers: c.Layers(), Protected: slices.Concat(protectedNames, c.config.Protected),
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

// resolved returns path with its links resolved, or the cleaned path if that fails.
func resolved(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// samePath reports whether two clean paths are equal. On Windows it ignores case.
func samePath(a, b string) bool { return a == b || onWindows && strings.EqualFold(a, b) }
