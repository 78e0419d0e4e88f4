package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
)

// programs are the files in the workspace that the commands of hooks and of the
// classifier name. They run without a sandbox, so no tool may change them: a
// model could otherwise have its own words run. What a program reads or starts
// in turn is not known.
func programs(s *policy.Settings, roots []string) (files []string) {
	if len(roots) == 0 {
		return nil
	}
	var commands []string
	for _, h := range s.Hooks().All() {
		commands = append(commands, h.Command)
	}
	for _, stage := range s.Classifier() {
		commands = append(commands, strings.Join(stage.Command, "\n"))
	}
	project := strings.NewReplacer(
		"${CLAUDE_PROJECT_DIR}", roots[0], "$CLAUDE_PROJECT_DIR", roots[0],
		"${MCP_TOOLSET_PROJECT_DIR}", roots[0], "$MCP_TOOLSET_PROJECT_DIR", roots[0], `"`, "", "'", "",
	)
	for _, command := range commands {
		for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>=", r) }) {
			path := project.Replace(word)
			if !filepath.IsAbs(path) {
				path = filepath.Join(roots[0], path)
			}
			path, err := workspace.Canonical(path)
			if err != nil || slices.Contains(files, path) || !slices.ContainsFunc(roots, func(root string) bool { return workspace.Within(root, path) }) {
				continue
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, path)
			}
		}
	}
	return files
}
