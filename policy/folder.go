package policy

import (
	"slices"

	"mcp-toolset/internal/file/ospath"
)

// paths is the style of paths. Tests set it to the style of another system.
var paths = ospath.Host

// folder is an absolute, clean path with which other paths are compared. The zero
// folder contains nothing.
type folder struct {
	path  string
	depth int // number of names in path: 0 for "/"
}

func newFolder(path string) folder {
	if !paths.IsAbs(path) {
		return folder{}
	}
	path = paths.Clean(path)
	return folder{path: path, depth: paths.Depth(path)}
}

func folders(list []string) []folder {
	var out []folder
	for _, path := range list {
		if f := newFolder(path); f.path != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// holds reports whether a clean absolute path is the folder or is below it. It
// compares whole names: /srv/app does not hold /srv/app2.
func (f folder) holds(path string) bool { return paths.Holds(f.path, path) }

// mayHold is holds without regard to case, on systems where names that differ only in
// case usually are one file. Checks that deny use it.
func (f folder) mayHold(path string) bool { return paths.MayHold(f.path, path) }

// within returns the first of the folders that holds path, or "" if none does.
func within(folders []folder, path string) string {
	for _, f := range folders {
		if f.holds(path) {
			return f.path
		}
	}
	return ""
}

// maybeWithin reports whether one of the folders may hold path.
func maybeWithin(folders []folder, path string) bool {
	return slices.ContainsFunc(folders, func(f folder) bool { return f.mayHold(path) })
}
