package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/file/ospath"
)

// Within reports whether path is dir or below it. It compares whole names: /srv/app2 is
// not within /srv/app. Both must be clean absolute paths.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	if !ok || dir == "" {
		return false
	}
	return rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(dir[len(dir)-1])
}

// Expand returns path as an absolute and clean path by the rules of this system: see
// ospath.Style.Expand. It accesses no file.
func Expand(path, dir, home string) string { return ospath.Host.Expand(path, dir, home) }

// Shown returns the prefix with which to show the paths of files below folder: "" in
// the working directory dir, a relative path and a slash below it, and otherwise the
// absolute path and a slash. dir and folder must be absolute and clean.
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

// ShownPath returns the path of a file with a prefix of Shown. It begins with ./ where it
// would otherwise begin with ~, which Expand and shells take for the home folder.
func ShownPath(prefix, path string) string {
	if path = prefix + path; path == "~" || strings.HasPrefix(path, "~/") {
		return "./" + path
	}
	return path
}
