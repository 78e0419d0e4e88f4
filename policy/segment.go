package policy

import (
	"errors"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// kind selects how a segment matches. Most segments need no glob matcher.
type kind uint8

const (
	exact    kind = iota // the name equals head
	oneStar              // head*tail; either may be empty
	glob                 // any other pattern
	anyDepth             // **: any number of names, including none
)

// segment is the part of a pattern between two slashes.
type segment struct {
	kind kind
	head string // literal before the first wildcard
	tail string // literal after the last wildcard
	glob string // only for kind glob: the segment in the syntax of doublestar
	name string // only for kind exact: the name as written (head is folded)
}

// match reports whether the segment matches one name of a path. Its kind must not be
// anyDepth.
func (s *segment) match(name string) bool {
	switch s.kind {
	case exact:
		return name == s.head
	case oneStar:
		return len(name) >= len(s.head)+len(s.tail) && s.fits(name)
	default:
		return s.fits(name) && doublestar.MatchUnvalidated(s.glob, name)
	}
}

func (s *segment) fits(name string) bool {
	return strings.HasPrefix(name, s.head) && strings.HasSuffix(name, s.tail)
}

// oneCase matches a character range with an upper-case letter at exactly one end.
// Folding would change which characters such a range contains.
var oneCase = regexp.MustCompile(`\[[^\]]*(\p{Lu}-[^\p{Lu}\]]|[^\p{Lu}\[!^]-\p{Lu})`)

// compileSegment parses the text between two slashes.
func compileSegment(text string) (segment, error) {
	if len(text) > 1 && strings.Trim(text, "*") == "" {
		return segment{kind: anyDepth}, nil
	}
	w := segmentWriter{rest: text}
	for w.rest != "" {
		if err := w.step(); err != nil {
			return segment{}, err
		}
	}
	if paths.Folds() && oneCase.MatchString(text) {
		return segment{}, errors.New("a range in it has an upper-case letter at one end only, and case is ignored here")
	}
	s := w.segment()
	s.name = s.head
	for _, text := range []*string{&s.head, &s.tail, &s.glob} {
		*text = paths.Fold(*text)
	}
	switch {
	case s.kind == exact && s.head == "..":
		return segment{}, errors.New(`".." is not supported; write the folder from the file-system root, with //`)
	case s.kind == glob && !doublestar.ValidatePattern(s.glob):
		return segment{}, errors.New("it is not a valid pattern")
	}
	return s, nil
}

// segmentWriter converts a segment from gitignore syntax to its literal ends and a
// doublestar pattern, and counts its wildcards.
type segmentWriter struct {
	rest    string // text not yet read
	head    string
	literal strings.Builder // literal text since the last wildcard
	pattern strings.Builder
	stars   int
	others  int // number of ? and [class]
}

// step reads one element: an escape, a class, a run of stars or a character.
func (w *segmentWriter) step() error {
	switch w.rest[0] {
	case '\\':
		if len(w.rest) == 1 {
			return errors.New("a part of it ends in a backslash")
		}
		w.write(w.rest[1:2])
		w.rest = w.rest[2:]
	case '*':
		w.wildcard(&w.stars)
		w.pattern.WriteByte('*')
		w.rest = strings.TrimLeft(w.rest, "*")
	case '?':
		w.wildcard(&w.others)
		w.pattern.WriteByte('?')
		w.rest = w.rest[1:]
	case '[':
		w.wildcard(&w.others)
		return w.class()
	default:
		w.write(w.rest[:1])
		w.rest = w.rest[1:]
	}
	return nil
}

// wildcard ends the present literal and counts a wildcard.
func (w *segmentWriter) wildcard(count *int) {
	if w.stars+w.others == 0 {
		w.head = w.literal.String()
	}
	w.literal.Reset()
	*count++
}

// write adds one literal byte. Braces are literal in gitignore, so write escapes them,
// like all other characters that are special to doublestar.
func (w *segmentWriter) write(b string) {
	w.literal.WriteString(b)
	if strings.Contains(`*?[]{}\`, b) {
		w.pattern.WriteByte('\\')
	}
	w.pattern.WriteString(b)
}

// class reads [...]. A "]" at its beginning is a member of the class.
func (w *segmentWriter) class() error {
	i := 1
	w.pattern.WriteByte('[')
	if i < len(w.rest) && (w.rest[i] == '!' || w.rest[i] == '^') {
		w.pattern.WriteByte('!')
		i++
	}
	for first := true; i < len(w.rest); first = false {
		switch c := w.rest[i]; {
		case c == ']' && !first:
			w.pattern.WriteByte(']')
			w.rest = w.rest[i+1:]
			return nil
		case c == '[' && i+1 < len(w.rest) && strings.IndexByte(":.=", w.rest[i+1]) >= 0:
			return errors.New("a named character class such as [:alpha:] is not supported")
		case c == '\\' && i+1 < len(w.rest):
			w.pattern.WriteString(w.rest[i : i+2])
			i += 2
		case c == ']' || c == '[' || c == '{' || c == '}':
			w.pattern.WriteByte('\\')
			w.pattern.WriteByte(c)
			i++
		default:
			w.pattern.WriteByte(c)
			i++
		}
	}
	return errors.New("a [ in it is not closed")
}

// segment returns the segment, with the cheapest kind that matches the same names.
func (w *segmentWriter) segment() segment {
	switch {
	case w.stars+w.others == 0:
		return segment{kind: exact, head: w.literal.String()}
	case w.stars == 1 && w.others == 0:
		return segment{kind: oneStar, head: w.head, tail: w.literal.String()}
	default:
		return segment{kind: glob, head: w.head, tail: w.literal.String(), glob: w.pattern.String()}
	}
}
