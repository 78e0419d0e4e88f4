package file

import (
	"mcp-toolset/tools"
)

// HookChange returns the fields that hooks get for a change of a file, in addition to the
// output: the diff and the old content. The old content is null for a new file and for one
// that cannot be shown.
func HookChange(c Changed, hunks []Hunk) tools.HookFields {
	f := tools.HookFields{"structuredPatch": limited(hunks), "originalFile": nil}
	if c.Old.Exists && c.Old.Data != nil {
		if old, err := c.Old.Text(); err == nil {
			f.Text("originalFile", old.String())
		}
	}
	return f
}
