package policy

import "strings"

// The names of upstream tools have the form mcp__server__tool.
const (
	UpstreamMark = "mcp__" // the beginning
	UpstreamGap  = "__"    // the separator of server and tool
)

// ServerPrefix returns the server's part in the names of its tools, between mcp__ and
// __. It is the server's name with _ in place of every character that some clients do
// not accept in tool names.
func ServerPrefix(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || !isNameRune(r) {
			return '_'
		}
		return r
	}, name)
}

// ToolsPrefix returns the beginning of the names of a server's tools.
func ToolsPrefix(prefix string) string { return UpstreamMark + prefix + UpstreamGap }
