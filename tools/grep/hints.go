package grep

import (
	"path/filepath"
	"regexp"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/search/ignore"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools/file"
)

// mostHints is the limit of hints in an answer.
const mostHints = 3

// hints returns advice on a search that may not have been meant as written.
func (r *searching) hints() (hints []string) {
	if r.in.OnlyMatches && r.in.OutputMode == "count" {
		hints = append(hints, "-o has no effect on count, which counts the lines that match")
	}
	if r.folded != "" {
		return append(hints, "upper and lower case differ: there is "+plain.Line(workspace.ShownPath(r.in.prefix, r.folded)))
	}
	if r.answer.Matched == 0 && r.answer.Incomplete == "" && (r.named || r.c.chosen > 0) {
		if text := asText(r.in.Pattern); text != "" {
			hints = append(hints, "( ) and [ ] have a meaning in a pattern; if they are meant as text, search for "+plain.Line(text))
		}
	}
	if r.named {
		return hints
	}
	for _, g := range r.in.choose.list {
		if len(hints) == mostHints {
			break
		}
		name, shown := strings.TrimSuffix(g.given, "/"), plain.Line(strings.TrimSuffix(g.given, "/"))
		switch {
		case name != "" && !strings.ContainsAny(name, `!`+special) && r.isFolder(name):
			hints = append(hints, shown+" is a folder; use "+shown+"/**")
		case r.c.chosen > 0:
		case r.link(name) != "":
			hints = append(hints, plain.Line(r.link(name))+" is a link, and links are not followed; search it as path")
		case strings.Contains("/"+name+"/", "/../"):
			hints = append(hints, "a glob does not lead to a parent folder; give the folder as path")
		default:
			hints = append(hints, ignore.Hints(g.given)...)
		}
	}
	return hints
}

// link returns the beginning of a glob that is a link, or leads out of the roots by one, or "".
func (r *searching) link(glob string) string {
	if at := strings.IndexAny(glob, "!"+special); at >= 0 {
		glob = glob[:max(0, strings.LastIndexByte(glob[:at], '/'))]
	}
	for i := 1; i <= len(glob); i++ {
		if i < len(glob) && glob[i] != '/' {
			continue
		}
		at := r.at(r.in.Path, glob[:i])
		if _, err := r.env.Files.Folder(at); file.IsLink(r.env, at) || file.LeadsOut(at, err) != nil {
			return glob[:i]
		}
	}
	return ""
}

// at returns a path of a glob relative to a folder.
func (r *searching) at(folder, name string) string {
	if path := filepath.FromSlash(name); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, filepath.FromSlash(name))
}

// isFolder reports whether a glob without special characters is the path of a folder,
// relative to the working directory or to the path searched.
func (r *searching) isFolder(glob string) bool {
	for _, at := range []string{r.env.Session.Dir, r.in.Path} {
		if _, err := r.env.Files.Folder(r.at(at, glob)); err == nil {
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
