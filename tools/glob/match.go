package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search/ignore"
)

const (
	// maxPattern is the longest pattern, in bytes: no path is longer.
	maxPattern = 4095
	// maxBraces bounds what the alternatives of a pattern stand for together,
	// and maxStars its **: matching may try each with each.
	maxBraces = 1000
	maxStars  = 8
)

// top begins a pattern that is relative to the folder searched, and matches there only
// if it has no other slash.
const top = "./"

// matcher decides by a file's folder and name.
type matcher struct {
	pattern string
	name    bool   // it is about the name alone
	suffix  string // all that it asks is this end of the name; "": it asks more
}

// newMatcher reads a pattern.
func newMatcher(pattern string) (*matcher, error) {
	wrong := check(pattern)
	switch {
	case pattern == "":
		return nil, fault.New("the pattern names a folder and no files", "Add what to find in it, such as /**/*.go.")
	case len(pattern) > maxPattern:
		return nil, fault.New(fmt.Sprintf("the pattern has %d bytes, and %d is the most", len(pattern), maxPattern), "Use a shorter one.")
	case wrong != nil:
		return nil, wrong
	case strings.HasSuffix(pattern, "/"):
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
	m := &matcher{pattern: strings.TrimPrefix(pattern, top), name: !strings.Contains(pattern, "/")}
	if rest, ok := strings.CutPrefix(pattern, "**/"); ok && !strings.Contains(rest, "/") {
		m.pattern, m.name = rest, true
	}
	if rest, ok := strings.CutPrefix(m.pattern, "*"); m.name && ok && rest != "" && !strings.ContainsAny(rest, special+"]}") {
		m.suffix = rest
	}
	return m, nil
}

// match reports whether a file is meant.
func (m *matcher) match(dir, name string) bool {
	switch {
	case m.suffix != "":
		return strings.HasSuffix(name, m.suffix)
	case !m.name && dir != "":
		name = dir + "/" + name
	}
	return doublestar.MatchUnvalidated(m.pattern, name)
}

// alternatives bounds how many patterns without braces one stands for.
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

// posix is a class of characters that the matcher does not know.
var posix = regexp.MustCompile(`\[[^\]]*\[:\w+:\]`)

// check says what makes a pattern invalid; nil if nothing does.
func check(pattern string) error {
	shown := plain.Line(pattern)
	if posix.MatchString(pattern) {
		return fault.New("pattern "+shown+" has a class such as [:alpha:], which is not known here", "Write the characters, such as [a-zA-Z].")
	}
	var wrong *ignore.GlobError
	// What begins with a ! is no negation here, and how much braces stand for is seen to elsewhere.
	if _, err := ignore.Globs([]string{"/" + pattern}); errors.As(err, &wrong) && !strings.HasPrefix(wrong.Fact, "braces ") {
		return fault.New(fmt.Sprintf("pattern %s is not valid: %s, at position %d", shown, wrong.Fact, wrong.Offset), wrong.Advice())
	}
	if !doublestar.ValidatePattern(pattern) {
		return fault.New("pattern "+shown+" is not valid: a ] in [ ] is not escaped", `Write \] for a literal bracket.`)
	}
	return nil
}

// steps is what looks like a range of numbers in braces.
var steps = regexp.MustCompile(`\{\w+\.\.\w+\}`)

// hints are what may have been meant by a pattern that matches nothing.
func hints(pattern string) (hints []string) {
	if strings.HasPrefix(pattern, "!") {
		hints = append(hints, "a ! at the beginning leaves nothing out: a pattern says what to find")
	}
	if s := steps.FindString(pattern); s != "" {
		hints = append(hints, s+" is no range: write such as [1-3] or {1,2,3}")
	}
	if several := strings.Fields(pattern); len(several) > 1 {
		hints = append(hints, "blanks are part of the pattern; for one of several write "+plain.Line("{"+strings.Join(several, ",")+"}"))
	}
	return hints
}

func isNoFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
