package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mcp-toolset/internal/file/ospath"
)

// Compilation of path patterns. match.go matches paths with them.

// maxPattern is the limit of a pattern's length, in bytes: PATH_MAX of Linux. A longer
// pattern cannot name a file.
const maxPattern = 4096

// anchor is the place at which a pattern begins.
type anchor uint8

const (
	atDir        anchor = iota // the working directory
	atFileSystem               // "/", written //
	atHome                     // the home folder, written ~/
	atRoot                     // the root of the settings file, written /; rules do not use it, see bind
)

// pathPattern is a compiled path pattern. It covers a path if its segments match all
// names of the path below the anchor, or the first ones: a pattern that matches a
// folder covers everything below it.
type pathPattern struct {
	anchor   anchor
	floating bool // only with atDir: whether the segments may match at any depth
	segments []segment
	least    int    // the minimum number of names it matches
	bound    int    // the number of leading segments that are the root of the settings file
	root     string // that root, if bound is set
}

// bind turns a pattern that begins at the root of its settings file into one that
// begins at the file-system root. A Policy can then hold patterns of several files.
func (p *pathPattern) bind(root string) error {
	from := newFolder(root)
	if from.path == "" {
		return errNoAnchor
	}
	var all []segment
	for _, name := range paths.Split(from.path) {
		all = append(all, segment{kind: exact, head: paths.Fold(name), name: name})
	}
	p.anchor, p.bound, p.root = atFileSystem, from.depth, root
	p.segments = append(all, p.segments...)
	p.least += from.depth
	return nil
}

// everything covers all paths. It replaces a deny or ask pattern that is malformed.
var everything = &pathPattern{anchor: atFileSystem}

// compilePath parses a pattern. The error describes what is wrong with it, as a
// clause: "a part of it ends in a backslash".
func compilePath(text string) (*pathPattern, error) {
	if err := checkPatternText(text); err != nil {
		return nil, err
	}
	text, err := convertDrive(text)
	if err != nil {
		return nil, err
	}
	p := &pathPattern{}
	rest := text
	switch {
	case strings.HasPrefix(text, "//"):
		p.anchor, rest = atFileSystem, text[2:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.anchor, rest = atHome, text[1:]
	case text[0] == '/':
		p.anchor, rest = atRoot, text[1:]
	case text[0] == '~' && strings.Contains(text, "/"):
		return nil, errors.New("the home folder of another user is not supported; write it from the file-system root, with //")
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || name == "." {
			continue
		}
		s, err := compileSegment(name)
		if err != nil {
			return nil, err
		}
		if s.kind == anyDepth && len(p.segments) > 0 && p.segments[len(p.segments)-1].kind == anyDepth {
			continue
		}
		p.segments = append(p.segments, s)
	}
	p.settle(rest)
	return p, nil
}

// settle sets floating, removes redundant ** at the ends of the pattern, and sets
// least.
func (p *pathPattern) settle(text string) {
	deepFirst := len(p.segments) > 0 && p.segments[0].kind == anyDepth
	noSlash := !strings.Contains(strings.TrimRight(text, "/"), "/")
	if p.anchor == atDir && text != "." && !strings.HasPrefix(text, "./") && (noSlash || deepFirst) {
		p.floating = true
		if deepFirst {
			p.segments = p.segments[1:]
		}
	}
	if n := len(p.segments); n > 0 && p.segments[n-1].kind == anyDepth {
		p.segments = p.segments[:n-1]
	}
	p.segments = slices.Clip(p.segments)
	for _, s := range p.segments {
		if s.kind != anyDepth {
			p.least++
		}
	}
}

// convertDrive turns a pattern that begins with the letter of a Windows drive into one from
// the file-system root: C:/p and //C:/p become //c/p.
func convertDrive(text string) (string, error) {
	rest := strings.TrimPrefix(text, "//")
	if paths != ospath.Windows || len(rest) < 2 || rest[1] != ':' || !isLetter(rest[0]) {
		return text, nil
	}
	if len(rest) > 2 && rest[2] != '/' {
		return "", fmt.Errorf("on Windows it is written with slashes, as in //%s/folder/**", strings.ToLower(rest[:1]))
	}
	return "//" + rest[:1] + rest[2:], nil
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// checkPatternText rejects texts that no path pattern may have, whatever its segments.
func checkPatternText(text string) error {
	switch {
	case text == "":
		return errors.New("the pattern is empty")
	case len(text) > maxPattern:
		return fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	case text[0] == '!':
		return errors.New(`a pattern cannot begin with "!"`)
	case unicode.IsSpace(firstRune(text)) || endsInSpace(text):
		return errors.New(`the pattern begins or ends with a space; escape one that is meant with "\"`)
	}
	return checkRunes(text)
}

// checkRunes rejects invisible characters, which would make a rule differ from what a
// reader sees.
func checkRunes(text string) error {
	for _, r := range text {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return fmt.Errorf("it holds %+q, a character that does not show", r)
		}
	}
	return nil
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// endsInSpace reports whether s ends with white space that is not escaped.
func endsInSpace(s string) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	if !unicode.IsSpace(r) {
		return false
	}
	before := s[:len(s)-size]
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 0
}

// forms returns the other Unicode normal forms of a pattern with accents. Composed and
// decomposed names look the same to users, and are the same to some file systems.
func (p *pathPattern) forms() []*pathPattern {
	var out []*pathPattern
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		q, other := *p, false
		q.segments = slices.Clone(p.segments)
		for i := range q.segments {
			s := &q.segments[i]
			if strings.Contains(s.glob, "[") {
				continue // a character of a class must remain a single one
			}
			for _, text := range []*string{&s.head, &s.tail, &s.glob, &s.name} {
				if !form.IsNormalString(*text) {
					*text, other = form.String(*text), true
				}
			}
		}
		if other {
			out = append(out, &q)
		}
	}
	return out
}
