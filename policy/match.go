package policy

import (
	"errors"
	"fmt"

	"mcp-toolset/internal/text/plain"
)

// Base holds the folders at which path patterns begin. They are absolute, or "" if
// unknown.
type Base struct {
	Dir  string // working directory of the session, for patterns that begin with neither / nor ~/
	Root string // root of the settings file, for patterns that begin with /
	Home string // home folder, for patterns that begin with ~/
}

// PathPattern compiles a path pattern of a rule. The returned function reports whether
// the pattern covers an absolute path. The syntax is similar to that of gitignore:
//
//   - //p begins at the file-system root, ~/p at the home folder, /p at the root of the
//     settings file. On Windows, //c/p or C:/p is on drive C, and //UNC/server/share/p is
//     on a share. ./p and p/q begin at the working directory. A name without a slash, or
//     a pattern that begins with **/, matches at any depth below the working directory.
//   - * and ? match within a name. ** between slashes matches any number of names.
//     [a-z] and [!a-z] match one character. \ makes the next character literal. Braces
//     are literal. Case matters, except on macOS and Windows.
//   - A pattern that matches a folder covers everything below it, so a slash or /** at
//     the end changes nothing.
//
// PathPattern returns an error for a malformed pattern and for one whose anchor is
// unknown. It also rejects a leading !, "..", ~user/ and [:classes:]. They have a
// meaning in gitignore or a shell, but would mean something else here.
func PathPattern(pattern string, base Base) (func(path string) bool, error) {
	p, err := compilePath(pattern)
	if err != nil {
		return nil, fmt.Errorf("compiling pattern %s: %w", plain.Quote(pattern), err)
	}
	from := newFolder(map[anchor]string{atDir: base.Dir, atHome: base.Home, atRoot: base.Root}[p.anchor])
	if from.path == "" && p.anchor != atFileSystem {
		return nil, fmt.Errorf("compiling pattern %s: %w", plain.Quote(pattern), errors.New("the folder it begins at is not known"))
	}
	return func(path string) bool {
		if !paths.IsAbs(path) {
			return false
		}
		path = paths.Clean(path)
		return (p.anchor == atFileSystem || from.mayHold(path)) && p.covers(paths.Names(path)[from.depth:])
	}, nil
}

// covers reports whether the pattern covers a path with the given names below the
// anchor.
func (p *pathPattern) covers(names []string) bool {
	if !p.floating {
		return matchNames(p.segments, names)
	}
	if len(p.segments) == 1 && p.segments[0].kind != anyDepth { // a bare name, as in most patterns
		for _, name := range names {
			if p.segments[0].match(name) {
				return true
			}
		}
		return false
	}
	for len(names) >= p.least {
		if matchNames(p.segments, names) {
			return true
		}
		if len(names) == 0 {
			return false
		}
		names = names[1:]
	}
	return false
}

// matchNames reports whether segments match the beginning of names. It backtracks only
// to the last **. That is enough: the last ** can match any names that an earlier one
// could.
func matchNames(segments []segment, names []string) bool {
	s, n := 0, 0
	deep, from := -1, 0
	for s < len(segments) {
		switch {
		case segments[s].kind == anyDepth:
			deep, from = s, n
			s++
		case n < len(names) && segments[s].match(names[n]):
			s++
			n++
		case deep >= 0 && from < len(names):
			from++
			s, n = deep+1, from
		default:
			return false
		}
	}
	return true
}
