package file

import (
	"mcp-toolset/internal/textfile"
	"mcp-toolset/tools"
)

// HookChange returns what hooks get of a change of a file, beside the output: the
// diff and the former content, which is null for a new file and for one that cannot
// be shown. nil: no hook runs.
func HookChange(env *tools.Env, c Changed, hunks []Hunk) tools.HookFields {
	if !env.Hooked {
		return nil
	}
	f := tools.HookFields{"structuredPatch": limited(hunks), "originalFile": nil}
	if c.Old.Exists && c.Old.Data != nil {
		if old, err := textfile.Decode(c.Old.Data); err == nil {
			f.Text("originalFile", old.String())
		}
	}
	return f
}
