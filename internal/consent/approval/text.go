package approval

import (
	"fmt"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Network is the name of the tool whose calls are connections of commands. No client can call
// it.
const Network = "Network"

// SiteCalls describes calls of a tool to sites, for users.
func SiteCalls(tool string) string {
	if tool == Network {
		return "connections of commands"
	}
	return "calls of " + plain.Text(tool)
}

// PendingText returns the fault for a call of a tool that the user must decide on.
func PendingText(number int, tool string) *fault.Fault {
	again := "send exactly this call again"
	if tool == Network {
		again = "run the command again"
	}
	return fault.New(
		fmt.Sprintf("approval %d is pending", number),
		fmt.Sprintf("Ask the user to run `mcp-toolset approve %d` (or `mcp-toolset deny %d`) on the machine of the server, then %s.", number, number, again))
}

// UnavailableText returns the fault for a call that the user cannot be asked
// about, with the error of Pend.
func UnavailableText(err error) *fault.Fault {
	return fault.New(
		"the user has to approve it and cannot be asked: "+plain.Line(err.Error()),
		"Continue without it, or ask the user to allow it in the settings.")
}
