package policy

import (
	"errors"
	"fmt"
)

// Base is what the anchors of a path pattern stand for. Folders are absolute;
// "" is unknown.
type Base struct {
	Dir  string // working directory of the session: a pattern that begins with neither / nor ~/
	Root string // root of the settings file: a pattern that begins with /
	Home string // home folder: a pattern that begins with ~/
}

// PathPattern compiles a path pattern of a rule. The function it returns
// reports whether the pattern covers an absolute path. The syntax is that of
// gitignore:
//
//   - //p begins at the file-system root, ~/p at home, /p at the root of the
//     settings file; on Windows //c/p, or C:/p, is on drive C and
//     //UNC/server/share/p on a share; ./p and p/q begin at the working directory; a name without
//     a slash, and what begins with **/, is found at any depth below it.
//   - * and ? match within a name, ** between slashes matches any number of
//     names, [a-z] and [!a-z] match one character, \ makes the next character
//     plain. Braces are plain characters. Upper and lower case differ,
//     except on macOS and Windows.
//   - What matches a folder covers all below it, so a slash or /** at the end
//     changes nothing.
//
// A malformed pattern is an error, and so is one whose anchor is unknown. So
// are a leading !, "..", ~user/ and [:classes:], which gitignore or a shell
// knows, because they would mean something else here.
func PathPattern(pattern string, base Base) (func(path string) bool, error) {
	p, err := compilePath(pattern)
	if err != nil {
		return nil, fmt.Errorf("compiling pattern %s: %w", show(pattern), err)
	}
	from := newFolder(map[anchor]string{atDir: base.Dir, atHome: base.Home, atRoot: base.Root}[p.anchor])
	if from.path == "" && p.anchor != atFileSystem {
		return nil, fmt.Errorf("compiling pattern %s: %w", show(pattern), errors.New("the folder it begins at is not known"))
	}
	return func(path string) bool {
		if !paths.IsAbs(path) {
			return false
		}
		path = paths.Clean(path)
		return (p.anchor == atFileSystem || from.mayHold(path)) && p.covers(paths.Names(path)[from.depth:])
	}, nil
}

// covers reports whether the pattern covers a path, given its names below the
// anchor.
func (p *pathPattern) covers(names []string) bool {
	if !p.floating {
		return matchNames(p.segments, names)
	}
	if len(p.segments) == 1 && p.segments[0].kind != anyDepth { // a bare name: most patterns
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

// matchNames matches segments with the beginning of names. It keeps only the
// last ** to come back to, which is enough: whatever an earlier one could take,
// the last can take as well.
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
