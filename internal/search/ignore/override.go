package ignore

import (
	"fmt"
	"strings"
)

const (
	// maxGlob is the limit of one glob, in bytes. No path on Linux is longer
	// (PATH_MAX).
	maxGlob = 4096
	// maxExpanded is the limit of patterns into which all globs together expand. Users
	// write a dozen; {a,b} nine times in a row is within it, ten times is not.
	maxExpanded = 1000
)

// Override holds globs that the user passed: patterns of a .gitignore with the inverse
// meaning. A plain glob includes, and one that begins with ! excludes. A nil Override
// decides nothing. It is safe for concurrent use.
type Override struct {
	list  *List
	plain bool // whether any glob is plain
}

// GlobError is the error for an invalid glob.
type GlobError struct {
	Glob   string
	Offset int    // in bytes
	Fact   string // the fault at Offset
}

func (e *GlobError) Error() string {
	return fmt.Sprintf("glob %q, byte %d: %s", e.Glob, e.Offset, e.Fact)
}

// Advice returns how to correct the glob, as a sentence.
func (e *GlobError) Advice() string {
	switch e.Fact {
	case unclosedBracket:
		return `Close it, or write \[ for a literal bracket.`
	case unclosedBrace:
		return `Close it, or write \{ for a literal brace.`
	case unopenedBrace:
		return `Remove the }, or write \} for a literal brace.`
	case danglingBackslash:
		return `Remove it, or write \\ for a literal backslash.`
	case backwardRange:
		return `Swap its ends, or write \- for a literal hyphen.`
	case unknownClass:
		return `Write the characters, such as [a-z].`
	}
	return `Shorten it, or use several calls.`
}

// Globs compiles globs. They differ from patterns of a file as follows. {a,b} matches
// either alternative; braces may be nested, and an alternative may be empty. # does not
// begin a comment. ** is special only if it is alone between slashes. An empty glob has
// no effect. The error is a *[GlobError].
func Globs(globs []string) (*Override, error) {
	o := &Override{list: &List{}}
	for _, glob := range globs {
		text, negated := strings.CutPrefix(glob, "!")
		if len(glob) > maxGlob {
			return nil, &GlobError{glob, maxGlob, fmt.Sprintf("longer than %d bytes", maxGlob)}
		}
		if at, fact := check(text); fact != "" {
			return nil, &GlobError{glob, at + len(glob) - len(text), fact}
		}
		text = trimBlanks(text)
		whole := newPattern(text, negated)
		room := maxExpanded - o.list.Len()
		expanded, ok := expand(text, room)
		if !ok {
			return nil, &GlobError{glob, 0, fmt.Sprintf("braces make more than %d globs", maxExpanded)}
		}
		for _, text := range expanded {
			p := newPattern(text, negated)
			p.path = whole.path
			p.start = 0
			if r, ok := compile(p, false); ok {
				o.list.add(r)
				o.plain = o.plain || !negated
			}
		}
	}
	if o.list.Len() == 0 {
		return nil, nil
	}
	o.list.index()
	return o, nil
}

// Match returns the verdict on an entry, given its path relative to the folder of the
// globs, with slashes. Ignored and Included take precedence over ignore files;
// Undecided leaves the decision to them. If there is a plain glob, a file that no glob
// matches is Ignored. A folder is not, because it may contain files that match.
func (o *Override) Match(path string, folder bool) Verdict {
	if o == nil {
		return Undecided
	}
	v := o.list.Match(path, folder).invert()
	if v == Undecided && o.plain && !folder {
		return Ignored
	}
	return v
}
