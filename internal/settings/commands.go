package settings

import (
	"slices"

	"mcp-toolset/internal/file/workspace"
)

// FromCommands returns the paths that no command may access (closed) and the paths that
// no command may change (protected). It is given the paths that no tool may access,
// including Closed, and the state folder. A path can be in both: an absent folder cannot be
// hidden, so files that a command creates there are examined. Paths in the state folder need no
// protection, since it exists before any command.
func (f *Found) FromCommands(closedToTools []string, state string) (closed, protected []string) {
	hidden := []string{state}
	if canonical, err := workspace.Canonical(state); err == nil {
		hidden = append(hidden, canonical)
	}
	for _, path := range f.Files {
		if !slices.ContainsFunc(hidden, func(dir string) bool { return workspace.Within(dir, path) }) {
			protected = append(protected, path)
		}
	}
	return slices.Clone(closedToTools), protected
}
