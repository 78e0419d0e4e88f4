package assembly

import (
	"strings"

	"mcp-toolset/internal/exec/gitconfig"
)

// programs adapts gitconfig to policy.Programs.
type programs struct{ home string }

// Program implements policy.Programs.
func (p programs) Program(path, root string) string {
	r, ok := gitconfig.Find(path, root)
	if !ok {
		return ""
	}
	r.Home = p.home
	for _, at := range r.Programs() {
		if path == at || strings.HasPrefix(path, at+"/") {
			return at
		}
	}
	return ""
}

// Below implements policy.Programs.
func (p programs) Below(root string) []string {
	r, ok := gitconfig.Find(root, root)
	if !ok {
		return nil
	}
	r.Home = p.home
	return r.Programs()
}
