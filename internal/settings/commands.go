package settings

import (
	"os"
	"slices"

	"mcp-toolset/internal/file/workspace"
)

// FromCommands returns the paths that no command may access (closed) and the paths that
// no command may change (protected). It is given the paths that no tool may access,
// including Closed, and the state folder. A settings path that is absent cannot be
// hidden; what a command creates there is examined after the command. Paths in a hidden
// folder need no protection, nor do those in the state folder, which exists before any
// command.
func (f *Found) FromCommands(closedToTools []string, state string) (closed, protected []string) {
	absent := func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil && slices.Contains(f.Closed, path)
	}
	closed = slices.DeleteFunc(slices.Clone(closedToTools), absent)
	hidden := append(slices.Clip(closed), state)
	if canonical, err := workspace.Canonical(state); err == nil {
		hidden = append(hidden, canonical)
	}
	for _, path := range f.Files {
		if !slices.ContainsFunc(hidden, func(dir string) bool { return workspace.Within(dir, path) }) {
			protected = append(protected, path)
		}
	}
	return closed, protected
}
