package hook

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Matcher selects the tools for which hooks run. The zero value matches none.
type Matcher struct {
	all   bool
	names []string
	expr  *regexp.Regexp // may match any part of the name, as in other MCP hosts; may be nil
}

// AllTools selects every tool.
var AllTools = Matcher{all: true}

func (m Matcher) matches(tool string) bool {
	return m.all || slices.Contains(m.names, tool) || m.expr != nil && m.expr.MatchString(tool)
}

// None reports whether the matcher selects no tool.
func (m Matcher) None() bool { return !m.all && m.names == nil && m.expr == nil }

// ParseMatcher parses a matcher. The error states one fact.
func ParseMatcher(text string) (Matcher, error) {
	if text == "" || text == "*" {
		return AllTools, nil
	}
	if strings.IndexFunc(text, notInNames) < 0 {
		var m Matcher
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.names = append(m.names, name)
			}
		}
		if m.names == nil {
			return m, errors.New("it names no tool")
		}
		return m, nil
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return Matcher{}, expressionError(err)
	}
	return Matcher{expr: expr}, nil
}

// notInNames reports whether a character makes a matcher a regular expression.
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-|, ", r)
}

// expressionError explains why an expression cannot be compiled, to users who know the
// expressions of other languages.
func expressionError(err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return errors.New("it is not a regular expression")
	}
	for _, look := range []string{"(?!", "(?=", "(?<"} {
		if strings.HasPrefix(bad.Expr, look) {
			return fmt.Errorf("look-around such as %s is not supported", look)
		}
	}
	return fmt.Errorf("%s: %s", bad.Code, plain.Quote(bad.Expr))
}
