package file

import (
	"fmt"
	"strings"

	"mcp-toolset/tools"
)

// Answer returns the text of a result: the operation, the diff and the notes.
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
		removed, added := h.changes()
		changed += max(removed, added)
	}
	return changed, shown > longestDiff
}

// Meta returns the _meta of a result with the hunks. Hunks after the limit maxMeta have no
// lines.
func Meta(hunks []Hunk) map[string]any {
	if len(hunks) == 0 {
		return nil
	}
	return map[string]any{tools.MetaHunks: limited(hunks)}
}

// Did returns what a call did to a file, for the journal.
func (c *Changed) Did(hunks []Hunk) *tools.Did {
	d := &tools.Did{Created: !c.Old.Exists}
	if d.Created && len(hunks) == 0 {
		d.Added = strings.Count(string(c.Data), "\n")
		if len(c.Data) > 0 && !strings.HasSuffix(string(c.Data), "\n") {
			d.Added++
		}
	}
	for _, h := range hunks {
		removed, added := h.changes()
		d.Removed += removed
		d.Added += added
	}
	return d
}

// changes returns the numbers of removed and added lines. Without the lines it returns the
// lengths of the hunk.
func (h Hunk) changes() (removed, added int) {
	if h.Omitted {
		return h.OldLines, h.NewLines
	}
	for _, l := range h.Lines {
		switch l[0] {
		case '-':
			removed++
		case '+':
			added++
		}
	}
	return removed, added
}

// limited returns the hunks for programs, never nil. Hunks after the limit maxMeta have no
// lines.
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

// Shown returns a text as the content of a result.
func Shown(text string) []tools.Content { return []tools.Content{tools.Text{Text: text}} }

// Measure returns the size of a text in words.
func Measure(s string) string { return Plural(count(s), "line") + ", " + Plural(len(s), "byte") }
