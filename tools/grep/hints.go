package grep

import (
	"path/filepath"
	"regexp"
	"strings"

	"mcp-toolset/internal/plain"
)

// mostHints is how many globs are looked at for a hint.
const mostHints = 3

// hints are what may have been meant instead.
func (r *searching) hints() (hints []string) {
	if r.answer.Matched == 0 && r.answer.Incomplete == "" && (r.named || r.c.chosen > 0) {
		if text := asText(r.in.Pattern); text != "" {
			hints = append(hints, "( ) and [ ] have a meaning in a pattern; if they are meant as text, search for "+plain.Line(text))
		}
	}
	if r.named {
		return hints
	}
	for _, glob := range split(r.in.Glob) {
		glob = strings.TrimSuffix(glob, "/")
		if len(hints) == mostHints {
			break
		}
		if glob != "" && !strings.ContainsAny(glob, `!*?[{\`) && r.isFolder(glob) {
			hints = append(hints, plain.Line(glob)+" is a folder; use "+plain.Line(glob)+"/**")
		}
	}
	return hints
}

// isFolder reports whether a glob without anything special is the path of a
// folder, by either way of reading.
func (r *searching) isFolder(glob string) bool {
	path := filepath.FromSlash(glob)
	for _, at := range []string{r.env.Session.Dir, r.in.Path} {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(at, path)
		}
		if _, err := r.env.Files.Folder(full); err == nil {
			return true
		}
	}
	return false
}

// group is a group that nothing says why it is one, with neither alternatives
// nor a repetition behind it; index is brackets behind a name.
var (
	group = regexp.MustCompile(`\([^?|()][^|()]*\)($|[^?*+{])|\(\)`)
	index = regexp.MustCompile(`[\w)\]]\[\w+\]($|[^?*+{])`)
)

// asText is a pattern that matches the text of another one which looks as if it
// was meant to be text; "" if it does not, or escapes something.
func asText(pattern string) string {
	if strings.Contains(pattern, `\`) || !group.MatchString(pattern) && !index.MatchString(pattern) {
		return ""
	}
	return regexp.QuoteMeta(pattern)
}
