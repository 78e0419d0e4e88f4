package cli

import (
	"bytes"
	"os"
)

// welcome is the output of the program without arguments.
const welcome = welcomeHead + "\n" + welcomeCommands

const (
	welcomeHead     = "mcp-toolset is an MCP server with the tools of a coding agent.\n"
	welcomeCommands = `  mcp-toolset doctor                                       check this system
  mcp-toolset call Read '{"file_path":"README.md"}'        try a tool
  mcp-toolset install CLIENT DIR                           add it to an MCP client
  mcp-toolset --help                                       all commands
`
)

// welcomeText returns the output of the program without arguments. For a user at a terminal it has
// the next step.
func welcomeText(host *Host) string {
	if in, ok := host.In.(*os.File); !ok || !isTerminal(in) {
		return welcome
	}
	width := helpWidth
	if w := screenOf(host, host.Out).width; w > 0 {
		width = min(width, max(w, 40))
	}
	return nextStep(clientsOf(host, host.Dir), width)
}

// nextStep returns the welcome for a user with these clients.
func nextStep(list []client, width int) string {
	const column = 11
	var b bytes.Buffer
	b.WriteString(welcomeHead + "\n")
	c := checkClients(list)
	detail, next := c.Detail, []string{c.Next}
	switch done := steps(list); {
	case c.Next != "":
	case len(done) > 0:
		next = append(done, "If the client does not show it: mcp-toolset doctor")
	default:
		detail = "none found on this system"
		next = []string{"mcp-toolset install CLIENT DIR, where CLIENT is " + oneOf(clientNames())}
	}
	entry(&b, "  clients", column, detail, width)
	for i, text := range next {
		entry(&b, map[bool]string{true: "  next"}[i == 0], column, text, width)
	}
	b.WriteString("\n" + welcomeCommands)
	return b.String()
}
