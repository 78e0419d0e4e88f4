package assembly

import (
	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/policy"
)

// secrets adapts sandbox.Home to policy.Secrets.
type secrets struct{ *sandbox.Home }

// Secret implements policy.Secrets.
func (s secrets) Secret(path string) (policy.Secret, bool) {
	found, ok := s.Home.Secret(path)
	return policy.Secret(found), ok
}
