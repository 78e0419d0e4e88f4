package glob

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
)

const (
	// maxPattern is the longest pattern, in bytes: no path is longer.
	maxPattern = 4096
	// maxBraces bounds what the alternatives of a pattern stand for together,
	// and maxStars its **: matching may try each with each.
	maxBraces = 1000
	maxStars  = 8
)

// matcher decides by a file's folder and name.
type matcher struct {
	pattern string
	name    bool   // it is about the name alone
	here    bool   // only files in the folder itself
	suffix  string // all that it asks is this end of the name; "": it asks more
}

// newMatcher reads a pattern.
func newMatcher(pattern string) (*matcher, error) {
	switch {
	case pattern == "":
		return nil, fault.New("the pattern names a folder and no files", "Add what to find in it, such as /**/*.go.")
	case len(pattern) > maxPattern:
		return nil, fault.New(fmt.Sprintf("the pattern has %d bytes, and %d is the most", len(pattern), maxPattern), "Use a shorter one.")
	case !doublestar.ValidatePattern(pattern):
		return nil, fault.New("pattern "+plain.Line(pattern)+" is not valid: a [ or { is not closed, a range runs backwards, or it ends with a \\",
			`Mend it, or put a \ before a character that is meant as it is.`)
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
	m := &matcher{pattern: pattern, name: !strings.Contains(pattern, "/")}
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
	case m.here && dir != "":
		return false
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

func isNoFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
