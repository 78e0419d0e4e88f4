package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// Within reports whether path is dir or below it. It compares whole names:
// /srv/app2 is not within /srv/app. Both are clean absolute paths.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	if !ok || dir == "" {
		return false
	}
	return rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1])
}

// Expand makes path absolute and clean: "~" and "~/x" with home, a relative
// path against dir, which is absolute. It looks at no file. An empty path
// stays empty. "~user" is an ordinary relative name, and so is "~" when home
// is not an absolute path.
func Expand(path, dir, home string) string {
	switch {
	case path == "":
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case path[0] == '~' && filepath.IsAbs(home) && (len(path) == 1 || os.IsPathSeparator(path[1])):
		return filepath.Join(home, path[1:])
	case os.IsPathSeparator(path[0]):
		// On Windows a path such as \x is absolute but for its drive.
		return filepath.Clean(filepath.VolumeName(dir) + path)
	}
	return filepath.Join(dir, path)
}

// Shown is what the paths of files below folder begin with where they are shown:
// nothing in the working directory dir, a relative path and a slash below it,
// else the absolute path and a slash. Both are absolute and clean.
func Shown(dir, folder string) string {
	rel, err := filepath.Rel(dir, folder)
	switch {
	case err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)):
		return strings.TrimSuffix(filepath.ToSlash(folder), "/") + "/"
	case rel == ".":
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}
