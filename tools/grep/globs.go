package grep

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// glob is one glob of a list.
type glob struct {
	given string // as in the list
	text  string // relative to the folder of globs: with a slash for the path of that folder
	start int    // where it starts in the list
}

// split splits a list of globs at blanks, and at commas outside of braces. It does not
// split after a backslash or in brackets. Blanks next to the braces and commas of
// alternatives are ignored. folder is the folder to which globs are relative; its own path
// at the beginning of a glob is literal.
func split(globs, folder string) (list []glob) {
	var b strings.Builder
	start, whole := 0, "" // whole is folder if the glob begins with it
	end := func() {
		if text := b.String(); text != "" {
			given := text
			if whole != "" {
				given = strings.Replace(text, "/", whole, 1)
			}
			list = append(list, glob{given, text, start})
		}
		b.Reset()
		whole = ""
	}
	depth := 0
	for i := 0; i < len(globs); {
		if so := b.String(); so == "" || so == "!" {
			if so == "" {
				start = i
			}
			if at := prefix(globs[i:], folder); at > 0 {
				whole = globs[i : i+at]
				b.WriteByte('/')
				i += at
				continue
			}
		}
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

// prefix returns the length of "./", or of the path of folder and a slash, at the beginning
// of a glob.
func prefix(text, folder string) int {
	if strings.HasPrefix(text, "./") {
		return 2
	}
	for _, scheme := range []string{"file://localhost/", "file:///"} {
		if strings.HasPrefix(text, scheme) {
			at := len(scheme) - 1
			if n := prefix(text[at:], folder); n > 0 {
				return at + n
			}
		}
	}
	if folder = strings.TrimSuffix(filepath.ToSlash(folder), "/") + "/"; len(folder) > 1 && strings.HasPrefix(text, folder) {
		return len(folder)
	}
	return 0
}

// maxJoined is the limit of globs in a list that are taken for one, and of lists in which
// that is tried is maxJoins.
const maxJoined, maxJoins = 8, 100

// join takes several globs of a list for one with blanks or commas in it, where the part
// before its first special character names something that exists: My Docs/**.
func join(globs, folder string, list []glob, exists func(name string) bool) (joined []glob) {
	if len(list) > maxJoins {
		return list
	}
	for i := 0; i < len(list); {
		n := 1
		for k := min(len(list)-i, maxJoined); k > 1 && n == 1; k-- {
			end := len(globs)
			if i+k < len(list) {
				end = list[i+k].start
			}
			g := whole(strings.TrimRight(globs[list[i].start:end], blanks+","), folder)
			name := strings.TrimPrefix(g.text, "!")
			fixed := strings.IndexAny(name, special)
			if fixed < 0 {
				fixed = len(name)
			} else {
				fixed = max(0, strings.LastIndexByte(name[:fixed], '/'))
			}
			last := len(list[i+k-1].given) // the last part must begin in the fixed one
			if len(name)-last < fixed && exists(name[:fixed]) {
				joined, n = append(joined, g), k
			}
		}
		if n == 1 {
			joined = append(joined, list[i])
		}
		i += n
	}
	return joined
}

// whole returns a list of globs as one glob.
func whole(globs, folder string) glob {
	text, negated := strings.CutPrefix(globs, "!")
	if at := prefix(text, folder); at > 0 {
		text = "/" + text[at:]
	}
	if trimmed := strings.TrimRight(text, " "); !strings.HasSuffix(trimmed, `\`) { // else they have no effect
		text = trimmed + strings.Repeat(`\ `, len(text)-len(trimmed))
	}
	if negated {
		text = "!" + text
	}
	return glob{given: globs, text: text}
}

// special lists the characters that have a meaning in a glob.
const special = `*?[{\`

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

// mostGlobs is the limit for the number of globs after brace expansion, as in package
// ignore.
const mostGlobs = 1000

// compile compiles globs, with their variants: names as they are shown, and literal brackets
// and braces.
// wrong is why the first invalid glob is none, if it is one with literal brackets.
func compile(globs []string) (o *ignore.Override, wrong, err error) {
	if len(globs) > mostGlobs {
		return nil, nil, fault.New(fmt.Sprintf("there are %d globs, and %d is the most", len(globs), mostGlobs), "Use fewer, or several calls.")
	}
	var all, valid []string
	for _, glob := range globs {
		_, err := ignore.Globs([]string{glob})
		if err == nil {
			all, valid = append(all, glob), append(valid, glob)
		}
		found := false
		for _, v := range variants(glob) {
			if _, err := ignore.Globs([]string{v}); err == nil {
				all, found = append(all, v), true
			}
		}
		switch {
		case err == nil:
		case !found || strings.HasPrefix(glob, "!"):
			return nil, nil, globFault(err)
		case wrong == nil:
			wrong = globFault(err)
		}
	}
	if o, err = ignore.Globs(all); err != nil { // the variants are too many
		o, err = ignore.Globs(valid)
	}
	return o, wrong, globFault(err)
}

// variants returns the other readings of a glob, for names that have such characters.
func variants(glob string) []string {
	all := ignore.Literal(glob)
	if !strings.Contains(glob, `\`) {
		return all
	}
	for _, shown := range []string{strings.ReplaceAll(glob, `\`, `\\`), unescaped(glob)} {
		all = append(append(all, shown), ignore.Literal(shown)...)
	}
	return all
}

// unescaped returns a glob in which the escapes of names that are shown are the characters
// themselves: see plain.Text. Other backslashes stay.
func unescaped(glob string) string {
	var b strings.Builder
	for glob != "" {
		if glob[0] != '\\' {
			b.WriteByte(glob[0])
			glob = glob[1:]
			continue
		}
		c, multibyte, rest, err := strconv.UnquoteChar(glob, 0)
		switch {
		case err != nil:
			n := min(2, len(glob))
			b.WriteString(glob[:n])
			rest = glob[n:]
		case c >= utf8.RuneSelf && multibyte:
			b.WriteRune(c)
		case c >= utf8.RuneSelf: // \xe9 is a byte
			b.WriteByte(byte(c))
		default:
			b.WriteString(`\` + string(c))
		}
		glob = rest
	}
	return b.String()
}

// globFault words the error of a glob.
func globFault(err error) error {
	var wrong *ignore.GlobError
	switch {
	case !errors.As(err, &wrong):
		return err
	case strings.HasPrefix(wrong.Fact, "braces "):
		return fault.New(fmt.Sprintf("the globs stand for more than %d with their braces", mostGlobs), "Use fewer, or several calls.")
	}
	return fault.New(fmt.Sprintf("glob %s is not valid: %s, at position %d", plain.Line(wrong.Glob), wrong.Fact, wrong.Offset+1),
		wrong.Advice())
}
