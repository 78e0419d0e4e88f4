package grep

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// split splits a list of globs at blanks, and at commas outside of braces. It does not
// split after a backslash or in brackets. Blanks next to the braces and commas of
// alternatives are ignored.
func split(globs string) (list []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			list = append(list, b.String())
		}
		b.Reset()
	}
	depth := 0
	for i := 0; i < len(globs); {
		size := 1
		switch c := globs[i]; {
		case c == '\\':
			size = min(2, len(globs)-i)
		case c == '[':
			size = class(globs[i:])
		case c == '{':
			depth++
		case c == '}':
			depth = max(0, depth-1)
		case isBlank(c) && depth > 0:
			rest := strings.TrimLeft(globs[i:], blanks)
			if so := b.String(); strings.ContainsAny(so[len(so)-1:], "{,") || rest != "" && strings.ContainsAny(rest[:1], ",}") {
				i = len(globs) - len(rest)
				continue
			}
		case isBlank(c) || c == ',' && depth == 0:
			end()
			i++
			continue
		}
		b.WriteString(globs[i : i+size])
		i += size
	}
	end()
	return list
}

const blanks = " \t\r\n"

func isBlank(c byte) bool { return strings.IndexByte(blanks, c) >= 0 }

// class returns the length of the bracket expression at the start of s, or 1 if it is not
// closed.
func class(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == ']' && !first:
			return i + 1
		case s[i] == '\\':
			i++
		}
		i++
	}
	return 1
}

// below makes a glob relative to folder, the folder to which globs are relative, if the
// glob begins with "./" or with the path of that folder. Other globs are unchanged.
func below(glob, folder string) string {
	text, negated := strings.CutPrefix(glob, "!")
	rest, ok := strings.CutPrefix(text, "./")
	if folder = strings.TrimSuffix(filepath.ToSlash(folder), "/"); !ok && folder != "" {
		rest, ok = strings.CutPrefix(text, folder+"/")
	}
	switch {
	case !ok:
		return glob
	case negated:
		return "!/" + rest
	}
	return "/" + rest
}

// mostGlobs is the limit for the number of globs after brace expansion, as in package
// ignore.
const mostGlobs = 1000

func compile(globs []string) (*ignore.Override, error) {
	if len(globs) > mostGlobs {
		return nil, fault.New(fmt.Sprintf("there are %d globs, and %d is the most", len(globs), mostGlobs), "Use fewer, or several calls.")
	}
	o, err := ignore.Globs(globs)
	var wrong *ignore.GlobError
	switch {
	case !errors.As(err, &wrong):
		return o, err
	case strings.HasPrefix(wrong.Fact, "braces "):
		return nil, fault.New(fmt.Sprintf("the globs stand for more than %d with their braces", mostGlobs), "Use fewer, or several calls.")
	}
	return nil, fault.New(fmt.Sprintf("glob %s is not valid: %s, at position %d", plain.Line(wrong.Glob), wrong.Fact, wrong.Offset+1),
		wrong.Advice())
}
