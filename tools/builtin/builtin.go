// Package builtin is the list of the tools that come with the server. To add
// one, add its package and one line here.
package builtin

import (
	"mcp-toolset/tools"
	"mcp-toolset/tools/read"
)

// Options are what a server can set of its tools. The zero value will do.
type Options struct {
	Read read.Options
}

// List returns the built-in tools.
func List(o Options) []*tools.Tool {
	return []*tools.Tool{
		read.New(o.Read),
	}
}
