// Package ospath interprets paths as an operating system does, by their text alone.
//
// The system is a parameter, the Style, so that the rules of Windows can be tested on
// every system. Package path/filepath knows only the system it is built for, and does
// not reject paths that Windows would take for other ones.
package ospath

import (
	"path"
	"runtime"
	"strings"
)

// Style determines how a system writes and compares paths. The zero Style is Unix.
type Style struct {
	windows bool // has drives, shares, and two separators
	fold    bool // names that differ only in case are usually one file
}

// The styles.
var (
	Unix    = Style{}
	Darwin  = Style{fold: true}
	Windows = Style{windows: true, fold: true}
)

// Host is the style of the system on which the program runs.
var Host = map[string]Style{"windows": Windows, "darwin": Darwin}[runtime.GOOS]

// Folds reports whether names that differ only in case are usually one file.
func (s Style) Folds() bool { return s.fold }

// IsAbs reports whether a path is absolute.
func (s Style) IsAbs(p string) bool {
	if !s.windows {
		return path.IsAbs(p)
	}
	v := readVolume(p)
	return v.kind == share || v.kind == device || v.kind == drive && v.rooted
}

// Clean returns the canonical spelling of an absolute path, without access to files.
// The result contains no "." and "..". On Windows it has backslashes, an upper-case
// drive letter and no \\?\ prefix. From a path that is not absolute, Clean removes
// only redundant separators, "." and "..".
func (s Style) Clean(p string) string {
	if !s.windows {
		return path.Clean(p)
	}
	v := readVolume(p)
	rest := strings.ReplaceAll(p[v.length:], `\`, "/")
	if v.kind == none || v.kind == drive && !v.rooted {
		return v.name + strings.ReplaceAll(path.Clean(rest), "/", `\`)
	}
	return v.name + strings.ReplaceAll(path.Clean("/"+rest), "/", `\`)
}

// Top returns the root of the file system of a clean absolute path: /, C:\,
// \\server\share\.
func (s Style) Top(p string) string {
	if !s.windows {
		return "/"
	}
	return readVolume(p).name + `\`
}

// Join returns the clean path of names below an absolute folder. Names are separated
// by slashes.
func (s Style) Join(dir, below string) string { return s.Clean(dir + "/" + below) }

// Names returns the names of a clean absolute path below the file-system root, as
// rules write them: c, a, b for C:\a\b and UNC, server, share, a for \\server\share\a.
// The names are folded, so that names the system considers equal are equal.
func (s Style) Names(p string) []string { return split(s.Fold(s.Slashed(p))) }

// Split is like Names, but does not fold the names.
func (s Style) Split(p string) []string { return split(s.Slashed(p)) }

func split(p string) []string {
	if p == "/" || p == "" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

// Slashed returns a clean absolute path as rules write it, with one root for all
// drives and shares: /c/a/b, /UNC/server/share/a.
func (s Style) Slashed(p string) string {
	if !s.windows {
		return p
	}
	v := readVolume(p)
	rest := strings.TrimSuffix(strings.ReplaceAll(p[v.length:], `\`, "/"), "/")
	switch v.kind {
	case drive:
		return "/" + strings.ToLower(v.name[:1]) + rest
	case share, device:
		return "/UNC/" + strings.ReplaceAll(v.name[2:], `\`, "/") + rest
	}
	return rest
}

// Unslashed is the inverse of Slashed. It turns a path that begins with neither a
// drive nor a share into one at which no file exists.
func (s Style) Unslashed(p string) string {
	if !s.windows {
		return p
	}
	names := strings.Split(strings.TrimPrefix(p, "/"), "/")
	switch {
	case len(names[0]) == 1 && isLetter(names[0][0]):
		return s.Clean(names[0] + ":/" + strings.Join(names[1:], "/"))
	case strings.EqualFold(names[0], "UNC"):
		return s.Clean("//" + strings.Join(names[1:], "/"))
	}
	return s.Clean(`\\?\` + strings.Join(names, `\`))
}

// Depth returns the number of names of a clean absolute path.
func (s Style) Depth(p string) int {
	p = s.Slashed(p)
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}

// Holds reports whether a clean absolute path is dir or is below it. It compares whole
// names and distinguishes case.
func (s Style) Holds(dir, p string) bool {
	sep := byte('/')
	if s.windows {
		sep = '\\'
	}
	switch {
	case dir == "" || !strings.HasPrefix(p, dir):
		return false
	case len(p) == len(dir) || dir[len(dir)-1] == sep:
		return true
	}
	return p[len(dir)] == sep
}

// MayHold is like Holds, but ignores case if the style usually does.
func (s Style) MayHold(dir, p string) bool {
	if !s.fold {
		return s.Holds(dir, p)
	}
	return s.Holds(s.Fold(dir), s.Fold(p))
}
