package cli

import (
	"slices"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/tools/builtin"
)

// findSettings finds the settings that apply to the roots of a configuration.
func (c *common) findSettings(host *Host, config *assembly.Config) error {
	found, err := settings.Find(settings.Options{
		Explicit: workspace.Expand(c.settings, host.Dir, host.Home),
		Home:     host.Home, Dir: host.Dir, Getenv: host.Getenv, Roots: canonicalRoots(config.Roots), State: config.State, Tools: toolNames(),
	})
	if err != nil {
		return err
	}
	for _, w := range found.Warnings {
		config.Log.Warn(w)
	}
	c.found = found
	config.Settings, config.AddTo, config.Notice = found.Merged, found.AddTo, found.Notice
	config.Guarded = append(config.Guarded, found.Files...)
	config.Closed = append(config.Closed, found.Closed...)
	return nil
}

// toolNames returns the names of all tools for rules, including former names.
func toolNames() []string {
	var names []string
	for _, t := range builtin.List(builtin.Options{}) {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

// canonicalRoots returns the canonical paths of folders, without duplicates. It omits a folder that
// cannot be resolved; opening the roots rejects that.
func canonicalRoots(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if canonical, err := workspace.Canonical(dir); err == nil && !slices.Contains(out, canonical) {
			out = append(out, canonical)
		}
	}
	return out
}
