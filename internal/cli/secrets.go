package cli

import (
	"slices"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/sandbox"
	"mcp-toolset/policy"
)

// secrets is sandbox.Home as the policy needs it.
type secrets struct{ *sandbox.Home }

// Secret implements policy.Secrets.
func (s secrets) Secret(path string) (policy.Secret, bool) {
	found, ok := s.Home.Secret(path)
	return policy.Secret(found), ok
}

// allRoots are the workspace roots, those of the settings too, with their links
// resolved; what cannot be resolved is left out.
func allRoots(config assembly.Config) []string {
	return canonicalRoots(slices.Concat(config.Roots, config.Settings.AdditionalDirectories()))
}
