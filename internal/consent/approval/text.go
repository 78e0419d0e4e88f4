package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

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
		fmt.Sprintf("Ask the user to run `mcp-toolset approve %d` (or `mcp-toolset deny %d`) or to answer in `mcp-toolset console`, on the machine of the server, then %s.", number, number, again))
}

// UnavailableText returns the fault for a call that the user cannot be asked
// about, with the error of Pend.
func UnavailableText(err error) *fault.Fault {
	return fault.New(
		"the user has to approve it and cannot be asked: "+plain.Line(err.Error()),
		"Continue without it, or ask the user to allow it in the settings.")
}

// CallText returns the name of a call for use in a sentence.
func CallText(i Item) string {
	if i.Title == "" {
		return plain.Text(i.Tool)
	}
	return plain.Text(i.Tool) + ", " + plain.Text(i.Title)
}

// FurtherText describes what an approval allows beyond the call, or returns "" if that is nothing.
func FurtherText(i Item) string {
	if i.Subject.Kind != "site" || i.Always != "" {
		return ""
	}
	return "further " + SiteCalls(i.Tool) + " to " + plain.Text(i.Subject.Value) + " in the same session"
}

// SubjectText describes exactly what a decline or "always" applies to. It quotes the value, so that
// a line break differs from a backslash followed by an n.
func SubjectText(tool string, s Subject) string {
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.Value); err != nil {
		panic(err) // strings can always be encoded
	}
	shown := Printable(strings.TrimSpace(value.String()))
	if s.Kind == "path" { // it applies to all tools with the same access to the path
		return map[string]string{"Read": "reads of ", "Edit": "changes to "}[s.Access] + shown
	}
	text := plain.Text(tool) + ": " + plain.Text(s.Kind) + " " + shown
	if s.Dir != "" {
		text += " in the folder " + plain.Text(s.Dir)
	}
	if s.Opens != "" {
		text += ", and for it " + plain.Text(s.Opens)
	}
	return text
}

// Printable escapes the characters of a JSON text that do not print, as JSON does. Such characters
// occur in strings only, apart from line breaks between tokens.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// AskedBy names the client that waits for a decision, as it calls itself, and its server's process.
func AskedBy(i Item) string {
	if i.Client == "" {
		return fmt.Sprintf("process %d", i.Process)
	}
	return fmt.Sprintf("%s (process %d)", i.Client, i.Process)
}
