package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/models"
)

// programs returns the files in the roots that the commands of hooks, of the classifier,
// of models, of agents and of upstream servers name. Most of these commands run outside of the
// sandbox, so no tool may change the files: a model could otherwise run its own text. Files that a program
// reads or starts in turn are unknown.
func (s *Settings) programs(o Options) []string {
	if len(o.Roots) == 0 {
		return nil
	}
	f := finder{roots: o.Roots}
	project := strings.NewReplacer(
		"${CLAUDE_PROJECT_DIR}", o.Roots[0], "$CLAUDE_PROJECT_DIR", o.Roots[0],
		"${MCP_TOOLSET_PROJECT_DIR}", o.Roots[0], "$MCP_TOOLSET_PROJECT_DIR", o.Roots[0], `"`, "", "'", "",
	)
	for _, h := range s.Hooks().All() {
		f.words(h.Command, project, o.Roots[0])
	}
	for _, stage := range s.Classifier() {
		f.words(strings.Join(stage.Command, "\n"), project, o.Roots[0])
	}
	if m := s.Models(); m != nil {
		for _, e := range []*models.Endpoint{m.Default, m.Small} {
			if e != nil {
				f.words(strings.Join(e.Command, "\n"), project, o.Roots[0])
			}
		}
	}
	for _, a := range s.AgentPrograms() {
		f.words(strings.Join(a.Command, "\n"), project, o.Roots[0])
	}
	for _, u := range s.Upstreams() {
		f.server(u, project, o)
	}
	return f.files
}

// server adds the files that start an upstream server. It takes arguments both whole
// and by words, since they may be options or a command.
func (f *finder) server(u Upstream, project *strings.Replacer, o Options) {
	if expanded, err := u.Expand(o.Getenv, o.Home); err == nil {
		u = expanded
	} // otherwise it cannot be started now; the files it names literally stay protected
	from := []string{f.roots[0], u.Root, o.Dir}
	if u.Dir != "" {
		from = append(from, u.Dir)
	}
	for _, word := range append([]string{u.Command}, u.Args...) {
		for _, dir := range from {
			f.add(word, dir)
			f.words(word, project, dir)
		}
	}
}

// finder collects files in the workspace.
type finder struct {
	roots []string // canonical paths
	files []string
}

// words adds the files that the words of a command name, relative to dir.
func (f *finder) words(command string, project *strings.Replacer, dir string) {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>=", r) }) {
		f.add(project.Replace(word), dir)
	}
}

// add adds a path, relative to dir, if it is a regular file in a root.
func (f *finder) add(path, dir string) {
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !filepath.IsAbs(path) {
		return
	}
	path, err := workspace.Canonical(path)
	if err != nil || slices.Contains(f.files, path) || !slices.ContainsFunc(f.roots, func(root string) bool { return workspace.Within(root, path) }) {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		f.files = append(f.files, path)
	}
}
