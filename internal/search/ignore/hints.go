package ignore

import (
	"regexp"
	"strings"
)

// foreign lists syntax that has a meaning in other programs and none in a glob, with what
// to write.
var foreign = []struct {
	syntax *regexp.Regexp
	hint   string
}{
	{regexp.MustCompile(`^\s*\[\s*"`), "a list in JSON is no list of globs: write {a,b} for one of several"},
	{regexp.MustCompile("^[\"'`].*[\"'`]$"), "quotes around a glob are part of it: leave them out"},
	{regexp.MustCompile(`^\^|\$$|^\.\*\\|[^./*]/\.\*$`), "this looks like a regular expression, and a glob is none: write such as *.go"},
	{regexp.MustCompile(`\|`), "| separates nothing in a glob: write {a,b} for one of several"},
	{regexp.MustCompile(`[!?+*@]\([^/]*\)`), "a group such as !(a) or +(a) has no meaning in a glob: write {a,b} for one of several"},
	{regexp.MustCompile(`\{\w+\.\.\w+\}`), "{ } with .. in it is no range: write such as [1-3] or {1,2,3}"},
}

// Hints returns advice on a glob that matched no file.
func Hints(glob string) (hints []string) {
	for _, f := range foreign {
		if f.syntax.MatchString(glob) {
			return []string{f.hint}
		}
	}
	if strings.Contains(glob, `\`) && !strings.Contains(glob, "/") && Literal(glob) == nil {
		hints = append(hints, `a \ makes the next character literal; folders are separated by /`)
	}
	return hints
}
