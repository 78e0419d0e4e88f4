package cli

import (
	"slices"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/internal/sandbox"
	"mcp-toolset/policy"
)

// secrets adapts sandbox.Home to policy.Secrets.
type secrets struct{ *sandbox.Home }

// Secret implements policy.Secrets.
func (s secrets) Secret(path string) (policy.Secret, bool) {
	found, ok := s.Home.Secret(path)
	return policy.Secret(found), ok
}

// allRoots returns the canonical paths of the workspace roots, including those of the settings. It
// omits folders that cannot be resolved.
func allRoots(config assembly.Config) []string {
	return canonicalRoots(slices.Concat(config.Roots, config.Settings.AdditionalDirectories()))
}
