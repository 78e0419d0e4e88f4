package approval

import (
	"fmt"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
)

// PendingText is what a model reads of a call that a person has to decide on.
func PendingText(number int) *fault.Fault {
	return fault.New(
		fmt.Sprintf("approval %d is pending", number),
		fmt.Sprintf("Ask the user to run `mcp-toolset approve %d` (or `mcp-toolset deny %d`) on this machine, then send exactly this call again.", number, number))
}

// UnavailableText is what a model reads of a call that nobody can be asked
// about, for the reason that Pend gave.
func UnavailableText(err error) *fault.Fault {
	return fault.New(
		"the user has to approve it and cannot be asked: "+plain.Line(err.Error()),
		"Continue without it, or ask the user to allow it in the settings.")
}
