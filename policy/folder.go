package policy

import (
	"slices"

	"mcp-toolset/internal/ospath"
)

// paths reads paths. Tests set it to the style of another system.
var paths = ospath.Host

// folder is an absolute, clean path that other paths are measured against. The
// zero folder holds nothing.
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

// holds reports whether a clean absolute path is the folder or lies below it.
// It compares whole names: /srv/app does not hold /srv/app2.
func (f folder) holds(path string) bool { return paths.Holds(f.path, path) }

// mayHold is holds, except that names which differ in case are one where they
// usually are one file. What denies goes by it.
func (f folder) mayHold(path string) bool { return paths.MayHold(f.path, path) }

// within returns the first of the folders that holds the path, "" if none.
func within(folders []folder, path string) string {
	for _, f := range folders {
		if f.holds(path) {
			return f.path
		}
	}
	return ""
}

// maybeWithin reports whether one of the folders may hold the path.
func maybeWithin(folders []folder, path string) bool {
	return slices.ContainsFunc(folders, func(f folder) bool { return f.mayHold(path) })
}
