package cli

import (
	"os"
	"slices"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/tools/builtin"
)

// findSettings finds the settings that hold for the roots of a configuration.
func (c *common) findSettings(host *Host, config *assembly.Config) error {
	found, err := settings.Find(settings.Options{
		Explicit: workspace.Expand(c.settings, host.Dir, host.Home),
		Home:     host.Home, Getenv: host.Getenv, Roots: canonicalRoots(config.Roots), State: config.State, Tools: toolNames(),
	})
	if err != nil {
		return err
	}
	for _, w := range found.Warnings {
		config.Log.Warn(w)
	}
	found.Files = append(found.Files, programs(found.Merged, canonicalRoots(config.Roots), host)...)
	c.found = found
	config.Settings, config.AddTo, config.Notice = found.Merged, found.AddTo, found.Notice
	config.Guarded = append(config.Guarded, found.Files...)
	config.Closed = append(config.Closed, found.Closed...)
	return nil
}

// toolNames returns the names of all tools that rules may be on, former ones
// included.
func toolNames() []string {
	var names []string
	for _, t := range builtin.List(builtin.Options{}) {
		names = append(append(names, t.Name), t.Aliases...)
	}
	return names
}

// canonicalRoots are folders as they are; one that cannot be resolved is left
// out, and refused when the roots are opened.
func canonicalRoots(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if canonical, err := workspace.Canonical(dir); err == nil && !slices.Contains(out, canonical) {
			out = append(out, canonical)
		}
	}
	return out
}

// keptFromCommands says what no command may touch, and what none may change. A
// folder that is absent cannot be hidden: what a command puts there is looked at
// behind it instead. What is in a hidden one needs nothing further, nor what is
// in the state folder, which is there before any command.
func (c *common) keptFromCommands(config assembly.Config) (closed, protected []string) {
	absent := func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil && slices.Contains(c.found.Closed, path)
	}
	closed = slices.DeleteFunc(slices.Clone(config.Closed), absent)
	hidden := append(slices.Clip(closed), config.State)
	if canonical, err := workspace.Canonical(config.State); err == nil {
		hidden = append(hidden, canonical)
	}
	for _, path := range c.found.Files {
		if !slices.ContainsFunc(hidden, func(dir string) bool { return workspace.Within(dir, path) }) {
			protected = append(protected, path)
		}
	}
	return closed, protected
}
