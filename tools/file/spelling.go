package file

import (
	"html"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// spelling is another spelling of a path that does not exist.
type spelling struct {
	text  string
	trust trust
}

// trust says when a spelling is taken for a file that may be created.
type trust int

const (
	certain  trust = iota // always
	likely                // if it exists, or its folder does
	existing              // if it exists
	unlikely              // if it exists, and the folder of the path as written does not
)

// maxSpellings is the limit of spellings tried.
const maxSpellings = 24

// spellings returns the other spellings of a path, those with the fewest changes first.
func spellings(path string) []spelling {
	all := []spelling{{path, certain}}
	for i := 0; i < len(all); i++ {
		for _, f := range forms {
			text := f.plain(all[i].text)
			if text == "" || len(all) > maxSpellings || slices.ContainsFunc(all, func(s spelling) bool { return s.text == text }) {
				continue
			}
			all = append(all, spelling{text, max(f.trust, all[i].trust)})
		}
	}
	return all[1:]
}

// forms are the forms in which texts and programs name files. plain returns the path, or
// text if it does not have the form.
var forms = []struct {
	trust trust
	plain func(text string) string
}{
	{certain, fileURL},
	{likely, unquoted},
	{likely, func(s string) string { // src\main.go
		if os.PathSeparator == '\\' {
			return s
		}
		return strings.ReplaceAll(s, `\`, "/")
	}},
	{existing, strings.TrimSpace},
	{existing, func(s string) string { // my\ file.txt
		return escapedByShell.ReplaceAllString(s, "$1")
	}},
	{existing, shellWord},
	{existing, func(s string) string { return place.ReplaceAllString(s, "") }},
	{existing, func(s string) string { // my%20file.txt
		if text, err := url.PathUnescape(s); err == nil && !strings.ContainsRune(text, 0) {
			return text
		}
		return s
	}},
	{existing, html.UnescapeString}, // R&amp;D
	{unlikely, func(s string) string { return strings.TrimPrefix(s, "@") }},
	{unlikely, func(s string) string { return diffPrefix.ReplaceAllString(s, "") }},
}

var (
	escapedByShell = regexp.MustCompile(`\\([^A-Za-z0-9])`)
	// place matches a line at the end of a path: x.go:12, x.go:12:5, x.go#L12-L15, x.cs(12,5).
	place = regexp.MustCompile(`(:\d+(-\d+|:\d+)?:?|#L\d+(-L?\d+)?|\(\d+(,\d+)?\))$`)
	// diffPrefix matches what diff and git put before a path: see diff.mnemonicPrefix of
	// git-config(1).
	diffPrefix = regexp.MustCompile(`^[abciow]/`)
)

// fileURL returns the path of a file: URL (RFC 8089).
func fileURL(s string) string {
	rest, ok := cutPrefixFold(s, "file:")
	if !ok {
		return s
	}
	rest = strings.TrimPrefix(rest, "//") // file://src/main.go names no host that could be meant
	if below, ok := cutPrefixFold(rest, "localhost/"); ok {
		rest = "/" + below
	}
	rest, _, _ = strings.Cut(rest, "#")
	if text, err := url.PathUnescape(rest); err == nil && !strings.ContainsRune(text, 0) {
		rest = text
	}
	if len(rest) > 2 && rest[0] == '/' && rest[2] == ':' && os.PathSeparator == '\\' { // /C:/x
		rest = rest[1:]
	}
	return rest
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// unquoted removes quotes, backticks and angle brackets around a path.
func unquoted(s string) string {
	trimmed := strings.TrimFunc(s, unicode.IsSpace)
	if strings.HasPrefix(trimmed, "'") || strings.HasPrefix(trimmed, "$'") {
		if word := shellWord(trimmed); word != trimmed {
			return word
		}
	}
	for _, pair := range []string{"``", `""`, "''", "<>", "“”", "‘’"} {
		r := []rune(pair)
		open, closing := string(r[0]), string(r[1])
		if len(trimmed) > len(pair) && strings.HasPrefix(trimmed, open) && strings.HasSuffix(trimmed, closing) {
			return trimmed[len(open) : len(trimmed)-len(closing)]
		}
	}
	return s
}

// shellWord returns a word of a shell without its quotes, such as d/'a'$'\t”b', which ls
// shows. Escapes within $'...' stay, since names are also shown with them. What is not one
// word with quotes stays as it is.
func shellWord(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		quote := s[i]
		if quote == '$' && i+1 < len(s) && s[i+1] == '\'' {
			i++
			end := i + 1
			for end < len(s) && s[end] != '\'' {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return s
			}
			b.WriteString(s[i+1 : end])
			i = end
			continue
		}
		if quote != '\'' && quote != '"' {
			b.WriteByte(quote)
			continue
		}
		end := strings.IndexByte(s[i+1:], quote)
		if end < 0 {
			return s
		}
		b.WriteString(s[i+1 : i+1+end])
		i += 1 + end
	}
	return b.String()
}
