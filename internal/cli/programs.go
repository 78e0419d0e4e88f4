package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
)

// programs are the files in the workspace that the commands of hooks, of the
// classifier and of other servers name. They run without a sandbox, so no tool
// may change them: a model could otherwise have its own words run. What a
// program reads or starts in turn is not known.
func programs(s *policy.Settings, roots []string, host *Host) []string {
	if len(roots) == 0 {
		return nil
	}
	f := finder{roots: roots}
	project := strings.NewReplacer(
		"${CLAUDE_PROJECT_DIR}", roots[0], "$CLAUDE_PROJECT_DIR", roots[0],
		"${MCP_TOOLSET_PROJECT_DIR}", roots[0], "$MCP_TOOLSET_PROJECT_DIR", roots[0], `"`, "", "'", "",
	)
	for _, h := range s.Hooks().All() {
		f.words(h.Command, project, roots[0])
	}
	for _, stage := range s.Classifier() {
		f.words(strings.Join(stage.Command, "\n"), project, roots[0])
	}
	for _, u := range s.Upstreams() {
		f.server(u, project, host)
	}
	return f.files
}

// server adds the files that start another server. Its arguments are taken whole
// and by words, since they may be options or a command.
func (f *finder) server(u policy.Upstream, project *strings.Replacer, host *Host) {
	if expanded, err := u.Expand(host.Getenv, host.Home); err == nil {
		u = expanded
	} // else it cannot be started now; what it names by itself stays closed
	from := []string{f.roots[0], u.Root, host.Dir}
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
	roots []string // canonical
	files []string
}

// words adds the files that the words of a command name, in a folder.
func (f *finder) words(command string, project *strings.Replacer, dir string) {
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>=", r) }) {
		f.add(project.Replace(word), dir)
	}
}

// add adds a path in a folder, if it is one of a file.
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
