package pipeline

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/policy"
)

// deciding returns the indexes of the parts because of which a call is asked about
// or denied, as far as that is known: those that are decided on alike by
// themselves, else those that name a path which the decision is about. An allowed
// call has none.
func deciding(d policy.Decision, parts []policy.PartDecision, dir, home string) (at []int) {
	if d.Behavior == policy.Allow {
		return nil
	}
	for i, part := range parts {
		if part.Behavior == d.Behavior {
			at = append(at, i)
		}
	}
	if len(at) > 0 {
		return at
	}
	about := pathsIn(d.Reason)
	for i, part := range parts {
		if slices.ContainsFunc(strings.Fields(part.Text), func(word string) bool { return slices.Contains(about, absolute(word, dir, home)) }) {
			at = append(at, i)
		}
	}
	return at
}

// pathsIn returns the absolute paths that a reason names.
func pathsIn(reason string) (paths []string) {
	for word := range strings.FieldsSeq(reason) {
		if word = strings.Trim(word, `,;:()"'`); filepath.IsAbs(word) {
			paths = append(paths, filepath.Clean(word))
		}
	}
	return paths
}

// absolute returns a word of a command as an absolute path.
func absolute(word, dir, home string) string {
	switch {
	case filepath.IsAbs(word):
	case word == "~" || strings.HasPrefix(word, "~/"):
		word = filepath.Join(home, word[1:])
	default:
		word = filepath.Join(dir, word)
	}
	return filepath.Clean(word)
}
