package command

import (
	"os"
	"path/filepath"
	"slices"
)

// besidePrograms are folders that programs in a folder bin beside them need.
var besidePrograms = []string{"lib", "lib64", "libexec", "share", "include"}

// programFolders lists the folders of PATH in the home folder with what their
// programs need: the folders that links in them lead to, and libraries. All
// exist, with their links resolved. A link that a command could have made is not
// followed.
func (c *Commands) programFolders() (out []string) {
	home := resolved(c.config.Home)
	add := func(folder, real string) {
		if inside(real, home) && real != home && (real == folder || !c.inWritable(folder)) && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	for _, folder := range c.programs() {
		real := resolved(folder)
		add(folder, real)
		if !inside(real, home) || c.inWritable(folder) {
			continue
		}
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				if real, err := filepath.EvalSymlinks(filepath.Join(folder, e.Name())); err == nil {
					add(filepath.Dir(real), filepath.Dir(real))
				}
			}
		}
	}
	for _, folder := range slices.Clone(out) {
		for _, name := range besidePrograms {
			beside := filepath.Join(filepath.Dir(folder), name)
			if _, err := os.Stat(beside); err == nil && filepath.Base(folder) == "bin" {
				add(beside, resolved(beside))
			}
		}
	}
	return out
}
