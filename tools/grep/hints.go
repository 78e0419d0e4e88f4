package grep

import (
	"path/filepath"
	"regexp"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// mostHints is the limit of hints in an answer.
const mostHints = 3

// hints returns advice on a search that may not have been meant as written.
func (r *searching) hints() (hints []string) {
	if r.answer.Matched == 0 && r.answer.Incomplete == "" && (r.named || r.c.chosen > 0) {
		if text := asText(r.in.Pattern); text != "" {
			hints = append(hints, "( ) and [ ] have a meaning in a pattern; if they are meant as text, search for "+plain.Line(text))
		}
	}
	if r.named {
		return hints
	}
	for _, glob := range r.in.choose.list {
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

// isFolder reports whether a glob without special characters is the path of a folder,
// relative to the working directory or to the path searched.
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

// group matches a group with no apparent purpose: no alternatives in it and no repetition
// after it. index matches brackets after a name.
var (
	group = regexp.MustCompile(`\([^?|()][^|()]*\)($|[^?*+{])|\(\)`)
	index = regexp.MustCompile(`[\w)\]]\[\w+\]($|[^?*+{])`)
)

// asText returns a pattern for the literal text of a pattern that looks as if it was meant
// as text. It returns "" for other patterns, and for those with a backslash.
func asText(pattern string) string {
	if strings.Contains(pattern, `\`) || !group.MatchString(pattern) && !index.MatchString(pattern) {
		return ""
	}
	return regexp.QuoteMeta(pattern)
}
