package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

const (
	// maxPattern is the limit of a pattern, in bytes. It is that of a path on Linux.
	maxPattern = 4095
	// maxBraces is the limit for the number of patterns that the braces of a pattern expand
	// to, and maxStars is the limit for the number of its "**". Matching may try each
	// combination.
	maxBraces = 1000
	maxStars  = 8
)

// top begins a pattern that is relative to the folder searched. Such a pattern matches only
// directly in that folder if it has no other slash.
const top = "./"

// matcher matches files by folder and name.
type matcher struct {
	pattern string
	name    bool   // only the name is matched
	suffix  string // the name only needs to end with it; "": the pattern is needed

	// Other readings of the pattern, for files whose paths have such characters.

	literal []string // with literal brackets and braces
	shown   []string // with literal backslashes, as they are in names that are shown
	look    string   // see nearest.Look

	// invalid is why the pattern is none. Then only literal and shown can match. nil: it is valid
	invalid error
}

// newMatcher parses a pattern. An error is worded for the model.
func newMatcher(pattern string) (*matcher, error) {
	m, err := parse(pattern)
	if m == nil {
		return nil, err
	}
	m.invalid = err
	m.literal = valid(ignore.Literal(pattern))
	if strings.Contains(pattern, `\`) {
		shown := strings.ReplaceAll(pattern, `\`, `\\`)
		m.shown = valid(append([]string{shown}, ignore.Literal(shown)...))
	}
	if len(m.literal)+len(m.shown) == 0 && err != nil {
		return nil, err
	}
	m.look = nearest.Look(m.pattern)
	return m, nil
}

// valid returns the patterns that are valid, as parsed.
func valid(patterns []string) (parsed []string) {
	for _, p := range patterns {
		if m, err := parse(p); err == nil {
			parsed = append(parsed, m.pattern)
		}
	}
	return parsed
}

// parse parses a pattern. If its brackets or braces are at fault, it also returns a matcher.
func parse(pattern string) (m *matcher, err error) {
	wrong := check(pattern)
	switch {
	case pattern == "":
		return nil, fault.New("the pattern names a folder and no files", "Add what to find in it, such as /**/*.go.")
	case len(pattern) > maxPattern:
		return nil, fault.New(fmt.Sprintf("the pattern has %d bytes, and %d is the most", len(pattern), maxPattern), "Use a shorter one.")
	case strings.HasSuffix(pattern, "/") && wrong == nil:
		return nil, fault.New("pattern "+plain.Line(pattern)+" names folders, and only files are found", "Use "+plain.Line(pattern)+"** for the files below.")
	case alternatives(pattern) > maxBraces:
		return nil, fault.New(fmt.Sprintf("the braces of the pattern stand for more than %d patterns", maxBraces), "Use fewer, or several calls.")
	}
	for strings.Contains(pattern, "**/**/") {
		pattern = strings.ReplaceAll(pattern, "**/**/", "**/")
	}
	if strings.Count(pattern, "**") > maxStars {
		return nil, fault.New(fmt.Sprintf("the pattern has more than %d **", maxStars), "Use fewer: ** stands for any folders.")
	}
	m = &matcher{pattern: strings.TrimPrefix(pattern, top), name: !strings.Contains(pattern, "/")}
	if rest, ok := strings.CutPrefix(pattern, "**/"); ok && !strings.Contains(rest, "/") {
		m.pattern, m.name = rest, true
	}
	if rest, ok := strings.CutPrefix(m.pattern, "*"); m.name && ok && rest != "" && !strings.ContainsAny(rest, special+"]}") {
		m.suffix = rest
	}
	return m, wrong
}

// match reports whether the pattern matches a file.
func (m *matcher) match(dir, name string) bool {
	if !m.name && dir != "" {
		name = dir + "/" + name
	}
	switch {
	case m.invalid != nil:
	case m.suffix != "":
		if strings.HasSuffix(name, m.suffix) {
			return true
		}
	case doublestar.MatchUnvalidated(m.pattern, name):
		return true
	}
	if m.literal != nil && strings.ContainsAny(name, "[]{}") {
		for _, v := range m.literal {
			if doublestar.MatchUnvalidated(v, name) {
				return true
			}
		}
	}
	if m.shown != nil {
		text := plain.Text(name)
		for _, v := range m.shown {
			if doublestar.MatchUnvalidated(v, text) {
				return true
			}
		}
	}
	if m.invalid != nil {
		return false
	}
	look := nearest.Look(name) // the same for nearly all names
	return (look != name || m.look != m.pattern) && doublestar.MatchUnvalidated(m.look, look)
}

// alternatives returns an upper limit of the number of patterns that the braces of a
// pattern expand to. It stops counting above maxBraces.
func alternatives(pattern string) int {
	all, open := 1, []int{}
	for i := 0; i < len(pattern) && all <= maxBraces; i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			all *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return all
}

// posix matches a POSIX character class, which doublestar does not support.
var posix = regexp.MustCompile(`\[[^\]]*\[:\w+:\]`)

// check returns an error that describes why a pattern is invalid, or nil.
func check(pattern string) error {
	shown := plain.Line(pattern)
	if posix.MatchString(pattern) {
		return fault.New("pattern "+shown+" has a class such as [:alpha:], which is not known here", "Write the characters, such as [a-zA-Z].")
	}
	var wrong *ignore.GlobError
	// A leading ! is not a negation here, and newMatcher limits the braces.
	if _, err := ignore.Globs([]string{"/" + pattern}); errors.As(err, &wrong) && !strings.HasPrefix(wrong.Fact, "braces ") {
		return fault.New(fmt.Sprintf("pattern %s is not valid: %s, at position %d", shown, wrong.Fact, wrong.Offset), wrong.Advice())
	}
	if !doublestar.ValidatePattern(pattern) {
		return fault.New("pattern "+shown+" is not valid: a ] in [ ] is not escaped", `Write \] for a literal bracket.`)
	}
	return nil
}

// hints returns advice on a pattern that matched no files.
func hints(pattern string) (hints []string) {
	if strings.HasPrefix(pattern, "!") {
		hints = append(hints, "a ! at the beginning excludes nothing: a pattern selects what to find")
	}
	hints = append(hints, ignore.Hints(pattern)...)
	if several := strings.Fields(pattern); len(several) > 1 {
		hints = append(hints, "blanks are part of the pattern; for one of several write "+plain.Line("{"+strings.Join(several, ",")+"}"))
	}
	return hints
}

func isNoFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
