package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"mcp-toolset/internal/approval"
	"mcp-toolset/internal/plain"
)

const (
	// shortInput is the longest input that stands beside its name, in bytes.
	shortInput = 100
	// listedInput is how much of an input a list shows, in characters, so that
	// one call does not hide the others.
	listedInput = 4000
	timeForm    = "2006-01-02 15:04:05"
)

// approvalList is what the command approvals prints.
type approvalList struct {
	approval.Overview
	always []approval.Entry
	whole  bool // one approval, of which nothing is cut
}

// text words the list for a person. Nothing in it can drive a terminal.
func (l *approvalList) text(b *bytes.Buffer) {
	pending := false
	for _, i := range l.Items {
		l.item(b, i)
		b.WriteByte('\n')
		pending = pending || !i.Approved
	}
	switch {
	case pending:
		b.WriteString("Decide with `mcp-toolset approve N`, `mcp-toolset approve N --always` or `mcp-toolset deny N`.\n")
	case !l.whole:
		b.WriteString("Nothing waits for an approval.\n")
	}
	if len(l.Declined) > 0 {
		b.WriteString("\nDeclined, until the conversation ends or `mcp-toolset approvals --lift N`:\n")
		for _, d := range l.Declined {
			fmt.Fprintf(b, "  %-4s %s, at %s in %s\n", declinedNumber(d.Number), subjectText(d.Tool, d.Subject), d.Since.Local().Format(timeForm), plain.Text(d.Server))
		}
	}
	if len(l.always) > 0 {
		b.WriteString("\nAlways allowed, until `mcp-toolset approvals --forget N`:\n")
		for _, e := range l.always {
			fmt.Fprintf(b, "  %-4d %s, in %s, since %s\n", e.Number, subjectText(e.Tool, e.Subject), plain.Text(strings.Join(e.Roots, ", ")), e.When.Local().Format(timeForm))
		}
	}
	for _, problem := range l.Silent {
		fmt.Fprintf(b, "\nProblem: %s\n", plain.Text(problem))
	}
}

func declinedNumber(n int) string {
	if n == 0 {
		return "-" // none could be drawn
	}
	return fmt.Sprint(n)
}

// item words one approval, with all that it is bound to.
func (l *approvalList) item(b *bytes.Buffer, i approval.Item) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-10s %s\n", name, plain.Text(value))
		}
	}
	if i.Approved {
		fmt.Fprintf(b, "Approval %d, given and not used yet, until %s\n", i.Number, i.Ends.Local().Format(timeForm))
	} else {
		fmt.Fprintf(b, "Approval %d, pending since %s, until %s\n", i.Number, i.Since.Local().Format(timeForm), i.Ends.Local().Format(timeForm))
	}
	row("tool", i.Tool)
	row("title", i.Title)
	row("folder", i.Dir)
	row("workspace", i.Root)
	row("for", i.Principal)
	row("server", fmt.Sprintf("%s (process %d)", i.Server, i.Process))
	row("why", i.Reason)
	if i.Always == "" {
		row("--always", "allows "+subjectText(i.Tool, i.Subject)+", in "+i.Root)
	} else {
		row("--always", "is not on offer: "+i.Always)
	}
	l.input(b, i)
}

// input shows the input of a call as the JSON that it is. Its strings are as
// they were sent but for characters that do not print.
func (l *approvalList) input(b *bytes.Buffer, i approval.Item) {
	input := bytes.TrimSpace(i.Input)
	if len(input) <= shortInput && !bytes.ContainsAny(input, "\t\r\n") {
		fmt.Fprintf(b, "  %-10s %s\n", "input", printable(string(input)))
		return
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, input, "    ", "  "); err != nil {
		indented.Reset()
		indented.Write(input)
	}
	text := []rune(printable(indented.String()))
	more := ""
	if over := len(text) - listedInput; over > 0 && !l.whole {
		text, more = text[:listedInput], fmt.Sprintf("\n    ... and %d characters more; `mcp-toolset approvals %d` shows all", over, i.Number)
	}
	fmt.Fprintf(b, "  input\n    %s%s\n", string(text), more)
}

// callText names a call in a sentence.
func callText(i approval.Item) string {
	if i.Title == "" {
		return plain.Text(i.Tool)
	}
	return plain.Text(i.Tool) + ", " + plain.Text(i.Title)
}

// subjectText says what a decline or "always" is about, exactly: in quotes, so
// that a line break is not a backslash and an n.
func subjectText(tool string, s approval.Subject) string {
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.Value); err != nil {
		panic(err) // a string
	}
	kind := s.Kind
	if s.Access != "" {
		kind = s.Access + " of the " + kind
	}
	text := plain.Text(kind) + " " + printable(strings.TrimSpace(value.String()))
	if s.Access == "" {
		text = plain.Text(tool) + ": " + text // of a path, it is about all tools that do the same to it
	}
	if s.Dir != "" {
		text += " in " + plain.Text(s.Dir)
	}
	return text
}

// printable escapes what does not print in JSON, as JSON does it. Such
// characters are in strings only, but for line breaks between tokens.
func printable(text string) string {
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

// json prints the list for programs. Keys are added, never changed.
func (l *approvalList) json(b *bytes.Buffer) error {
	type item struct {
		approval.Item
		Input json.RawMessage `json:"input"`
	}
	items := []item{}
	for _, i := range l.Items {
		items = append(items, item{i, i.Input})
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Servers   int                `json:"servers"`
		Approvals []item             `json:"approvals"`
		Declined  []approval.Refusal `json:"declined"`
		Always    []approval.Entry   `json:"always"`
		Problems  []string           `json:"problems"`
	}{l.Servers, items, append([]approval.Refusal{}, l.Declined...), append([]approval.Entry{}, l.always...), append([]string{}, l.Silent...)})
	b.WriteString(printable(raw.String()))
	return err
}
