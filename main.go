// Command mcp-toolset serves a coding agent's tools over the Model Context Protocol.
package main

import (
	"os"

	"mcp-toolset/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.OS())) }
