// Package builtin is the list of the tools that come with the server. To add
// one, add its package and one line here.
package builtin

import (
	"mcp-toolset/tools"
	"mcp-toolset/tools/read"
)

// Options are what a server can set of its tools.
type Options struct {
	ReadMaxTokens int // 0: the default of Read
}

// List returns the built-in tools.
func List(o Options) []*tools.Tool {
	return []*tools.Tool{
		read.New(read.Options{MaxTokens: o.ReadMaxTokens}),
	}
}
