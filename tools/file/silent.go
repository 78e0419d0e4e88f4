package file

import (
	"errors"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// mostSilent is the limit for naming folders that do not respond.
const mostSilent = 5

// NotResponding returns the error for a file system that does not respond. It returns other errors,
// and nil, unchanged.
func NotResponding(err error, path string) error {
	switch {
	case errors.Is(err, bounded.ErrTime):
		return &tools.Fault{
			Fact: "the file system of " + plain.Line(path) + " does not answer",
			Next: "Search another folder, or try again later; if that fails too, ask the user to check the file system.",
		}
	case errors.Is(err, bounded.ErrTooMany):
		return &tools.Fault{
			Fact: "too many earlier calls still wait for a file system that does not answer",
			Next: "Try again later; if that fails too, ask the user to check the file system.",
		}
	}
	return err
}

// Silent returns notes on folders that a search left out because their file systems do not
// respond. folders are paths below prefix.
func Silent(folders []string, prefix string) (notes []string) {
	for i, f := range folders {
		if i == mostSilent {
			return append(notes, "incomplete: "+Plural(len(folders)-i, "further folder")+" left out for the same reason")
		}
		notes = append(notes, "incomplete: the file system of "+plain.Line(prefix+f)+" does not answer, so what is in it is missing")
	}
	return notes
}
