package policy

import (
	"path/filepath"
	"slices"
	"strings"
)

// folder is an absolute, clean path that other paths are measured against. The
// zero folder holds nothing.
type folder struct {
	path  string
	depth int // number of names in path: 0 for "/"
}

func newFolder(path string) folder {
	if !filepath.IsAbs(path) {
		return folder{}
	}
	path = filepath.Clean(path)
	return folder{path: path, depth: depth(path)}
}

func folders(paths []string) []folder {
	var out []folder
	for _, path := range paths {
		if f := newFolder(path); f.path != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func depth(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}

// holds reports whether a clean absolute path is the folder or lies below it.
// It compares whole names: /srv/app does not hold /srv/app2.
func (f folder) holds(path string) bool { return holds(f.path, path) }

func holds(dir, path string) bool {
	switch {
	case dir == "":
		return false
	case dir == "/":
		return path != ""
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// within returns the first of the folders that holds the path, "" if none.
func within(folders []folder, path string) string {
	for _, f := range folders {
		if f.holds(path) {
			return f.path
		}
	}
	return ""
}
