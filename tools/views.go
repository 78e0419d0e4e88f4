package tools

// View names a page on which hosts can show the results of a tool. It shows the text and the _meta
// of a result.
type View string

// Views of results.
const (
	NoView     View = ""
	ViewDiff   View = "diff"
	ViewOutput View = "output"
	ViewCall   View = "call"
)

// MetaHunks is the key in a result's _meta for the changes of a file, a list of file.Hunk. A hook
// that replaces the text of a result removes it.
const MetaHunks = "mcp-toolset/hunks"

// Views lists the views and what they show.
var Views = []struct {
	View  View
	About string
}{
	{ViewDiff, "Shows the changes of a file."},
	{ViewOutput, "Shows the output of a command or a task."},
	{ViewCall, "Shows the result of the tool that a call names."},
}
