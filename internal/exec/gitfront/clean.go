package gitfront

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// generatedHooks is a folder that the sandbox replaces by a copy. Commands cannot remove it.
const generatedHooks = ".husky/_"

// cleaned returns the paths of set that clean would remove.
func (f *front) cleaned(set []string) []string {
	if f.has("-n", "--dry-run", "-i", "--interactive") {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(f.rest), func(w string) bool { return w == "-q" || w == "--quiet" })
	out, err := f.git(slices.Concat([]string{"-c", "core.quotePath=false", "clean", "-n", "-e", generatedHooks}, rest)...)
	if err != nil {
		return nil // the subcommand fails as well
	}
	prefix := f.line("rev-parse", "--show-prefix")
	return slices.DeleteFunc(slices.Clone(set), func(p string) bool {
		for line := range strings.Lines(out) {
			name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Would remove ")
			if plain, err := strconv.Unquote(name); err == nil {
				name = plain
			}
			name = filepath.Join(prefix, name)
			if ok && (inside(p, name) || inside(name, p)) {
				return false
			}
		}
		return true
	})
}
