package file

import (
	"fmt"
	"strings"

	"mcp-toolset/tools"
)

// MetaHunks is the key of a result's _meta under which programs find what
// changed, as a list of Hunk.
const MetaHunks = "mcp-toolset/hunks"

// Answer is the text of a result: what was done, the diff, the notes.
func Answer(done string, hunks []Hunk, notes []string) string {
	var b strings.Builder
	if changed, long := summary(hunks); long {
		fmt.Fprintf(&b, "%s, %s changed.\n", strings.TrimSuffix(done, "."), Plural(changed, "line"))
	} else {
		b.WriteString(done + "\n" + Unified(hunks))
	}
	for _, n := range notes {
		b.WriteString("[" + n + "]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// summary returns the number of changed lines, and reports whether their diff is too
// long to show. A change too large to compare has no diff and is not long.
func summary(hunks []Hunk) (changed int, long bool) {
	shown := 0
	for _, h := range hunks {
		if h.Omitted {
			return 0, false
		}
		shown += len(h.Lines)
		removed, added := 0, 0
		for _, l := range h.Lines {
			switch l[0] {
			case '-':
				removed++
			case '+':
				added++
			}
		}
		changed += max(removed, added)
	}
	return changed, shown > longestDiff
}

// Meta is the _meta of a result with what changed; the lines of hunks are left
// out once there is too much of them.
func Meta(hunks []Hunk) map[string]any {
	if len(hunks) == 0 {
		return nil
	}
	return map[string]any{MetaHunks: limited(hunks)}
}

// limited returns hunks for programs, never nil.
func limited(hunks []Hunk) []Hunk {
	told := append([]Hunk{}, hunks...)
	size := 0
	for i, h := range told {
		for _, l := range h.Lines {
			size += len(l)
		}
		if size > maxMeta {
			told[i] = h.omit()
		}
	}
	return told
}

// Shown is a text as the content of a result.
func Shown(text string) []tools.Content { return []tools.Content{tools.Text{Text: text}} }
