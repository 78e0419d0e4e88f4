// Package helper runs the processes that supervise commands and try their
// containment, before most of this program is initialized. A command waits for
// such a process to start, and the libraries of the server take most of that time.
//
// Go initializes packages in the order of their import paths as soon as what
// they import is initialized. So this package imports nothing but what these
// processes need, and its init never returns in one of them.
package helper

import (
	"os"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/process"
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
	}
}
