package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mcp-toolset/internal/ospath"
)

// This file turns the text of a path pattern into a pathPattern; match.go
// matches paths with it.

// maxPattern bounds a pattern, in bytes: as long as the longest path Linux
// knows. A longer one can name no file.
const maxPattern = 4096

// anchor is where the first name of a pattern is looked for.
type anchor uint8

const (
	atDir        anchor = iota // the working directory
	atFileSystem               // "/", written //
	atHome                     // the home folder, written ~/
	atRoot                     // the root of the settings file, written /; no rule has it, see bind
)

// pathPattern is a path pattern taken apart. It covers a path when its segments
// match the names of the path below the anchor, or a beginning of them: what
// matches a folder covers all below it.
type pathPattern struct {
	anchor   anchor
	floating bool // atDir only: the segments may match at any depth
	segments []segment
	least    int // how many names it takes at least
	bound    int // how many segments at the beginning are the root of the settings file
}

// bind makes a pattern that begins at the root of its settings file one that
// begins at the file-system root, so that patterns of several files can stand
// in one Policy.
func (p *pathPattern) bind(root string) error {
	from := newFolder(root)
	if from.path == "" {
		return errNoAnchor
	}
	var all []segment
	for _, name := range paths.Split(from.path) {
		all = append(all, segment{kind: exact, head: paths.Fold(name), name: name})
	}
	p.anchor, p.bound = atFileSystem, from.depth
	p.segments = append(all, p.segments...)
	p.least += from.depth
	return nil
}

// everything covers any path. It stands in for a deny or ask pattern that is
// malformed.
var everything = &pathPattern{anchor: atFileSystem}

// compilePath takes a pattern apart. The error says what is wrong with it, as a
// clause: "a part of it ends in a backslash".
func compilePath(text string) (*pathPattern, error) {
	if err := checkPatternText(text); err != nil {
		return nil, err
	}
	text, err := onDrive(text)
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

// settle finds out whether the pattern floats, drops the ** at its ends that
// say nothing more, and counts.
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

// onDrive returns a pattern that begins with the letter of a Windows drive as
// one from the file-system root: //c/p for C:/p and for //C:/p.
func onDrive(text string) (string, error) {
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

// checkPatternText refuses what no path pattern may hold, whatever its parts.
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

// checkRunes refuses characters that nobody sees, which make a rule other than
// what it reads as.
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

// endsInSpace reports white space at the end that no backslash escapes.
func endsInSpace(s string) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	if !unicode.IsSpace(r) {
		return false
	}
	before := s[:len(s)-size]
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 0
}

// forms are the other ways to write a pattern with accents: composed and
// decomposed are one name to a person, and to some file systems.
func (p *pathPattern) forms() []*pathPattern {
	var out []*pathPattern
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		q, other := *p, false
		q.segments = slices.Clone(p.segments)
		for i := range q.segments {
			s := &q.segments[i]
			if strings.Contains(s.glob, "[") {
				continue // the characters of a class stay single ones
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
