// Package helper runs the processes that supervise commands and try the sandbox, before most
// packages of this program are initialized. A command waits until such a process has started, and
// most of that time would go to the server's libraries.
//
// Go initializes packages in the order of their import paths, as soon as their imports are
// initialized. So this package imports only what these processes need, and its init never returns
// in one of them.
package helper

import (
	"os"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/gitfront"
	"mcp-toolset/internal/exec/process"
)

func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case process.Arg:
		os.Exit(command.Supervise())
	case command.TryArg:
		os.Exit(command.Try(os.Stdout))
	case gitfront.Arg:
		os.Exit(gitfront.Run(os.Args[2:]))
	}
}
