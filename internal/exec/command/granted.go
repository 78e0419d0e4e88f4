package command

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/exec/sandbox"
)

// besidePrograms lists folders beside a folder bin that its programs need.
var besidePrograms = []string{"lib", "lib64", "libexec", "share", "include"}

// programFolders returns the folders of PATH in the home folder and the folders that
// their programs need: the targets of links in them, and libraries. All exist, and
// their links are resolved. It follows no link that a command could have made.
func (c *Commands) programFolders(links *sandbox.Resolver) (out []string) {
	real := func(path string) string { return cmp.Or(links.Real(path), path) }
	home := real(c.config.Home)
	add := func(folder string) {
		at := real(folder)
		if inside(at, home) && at != home && (at == folder || !c.writes(folder, at)) && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	for _, folder := range c.programs() {
		add(folder)
		if !inside(real(folder), home) || c.writes(folder, real(folder)) {
			continue
		}
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				if file := links.Real(filepath.Join(folder, e.Name())); file != "" {
					add(filepath.Dir(file))
				}
			}
		}
	}
	for _, folder := range slices.Clone(out) {
		for _, name := range besidePrograms {
			beside := filepath.Join(filepath.Dir(folder), name)
			if filepath.Base(folder) == "bin" && links.Real(beside) != "" {
				add(beside)
			}
		}
	}
	return out
}
