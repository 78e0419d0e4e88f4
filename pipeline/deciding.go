package pipeline

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/policy"
)

// deciding returns the indexes of the parts that cause an ask or deny decision,
// as far as known. These are the parts that get the same decision by
// themselves. If there are none, they are the parts that name a path of the
// decision's reason, or those that no rule covers if the tool decided, or the only
// part. An allowed call has none.
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
		if slices.ContainsFunc(strings.Fields(part.Text), func(word string) bool { return names(absolute(word, dir, home), about) }) {
			at = append(at, i)
		}
	}
	for i, part := range parts {
		if len(about) == 0 && d.Layer == policy.LayerTool && part.Layer == policy.LayerDefault {
			at = append(at, i)
		}
	}
	if len(at) == 0 && len(parts) == 1 {
		return []int{0}
	}
	return at
}

// names reports whether a word of a command, which may have wildcards, names one of the
// paths.
func names(word string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		matches, err := filepath.Match(word, path)
		return word == path || err == nil && matches
	})
}

// pathsIn returns the absolute paths in the text of a reason, without lists in parentheses: these
// are of roots or of folders of the kernel.
func pathsIn(reason string) (paths []string) {
	listed := false
	for word := range strings.FieldsSeq(reason) {
		listed = listed || strings.HasPrefix(word, "(") && filepath.IsAbs(word[1:])
		end := strings.HasSuffix(strings.TrimRight(word, ",;:"), ")")
		if word = strings.Trim(word, `,;:()"'`); !listed && filepath.IsAbs(word) {
			paths = append(paths, filepath.Clean(word))
		}
		listed = listed && !end
	}
	return paths
}

// absolute returns a word of a command as an absolute path, with ~ expanded.
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
