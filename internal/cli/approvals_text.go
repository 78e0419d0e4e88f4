package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/plain"
)

const (
	// shortInput is the limit of an input shown on the same line as its name, in bytes.
	shortInput = 100
	// listedWhat and listedReason are the limits of a command or path, and of a reason, in the
	// list, in characters.
	listedWhat   = 60
	listedReason = 80
	timeForm     = "2006-01-02 15:04:05"
)

// approvalList holds the output of the command approvals.
type approvalList struct {
	approval.Overview
	always []approval.Entry
	whole  bool // one approval, shown as a block
	screen
}

// text writes the list for the user. It escapes everything that could control a terminal.
func (l *approvalList) text(b *bytes.Buffer) {
	pending := slices.ContainsFunc(l.Items, func(i approval.Item) bool { return !i.Approved })
	if l.whole {
		for _, i := range l.Items {
			l.item(b, i)
			b.WriteByte('\n')
		}
	} else {
		l.table(b)
	}
	switch {
	case pending && l.whole && l.Items[0].Questions != nil:
		n := l.Items[0].Number
		fmt.Fprintf(b, "Answer with `mcp-toolset answer %d` or `mcp-toolset answer %d ANSWER ...`, or decline with `mcp-toolset deny %d`.\n", n, n, n)
	case pending && l.whole:
		i := l.Items[0]
		always := fmt.Sprintf(", `mcp-toolset approve %d --always`", i.Number)
		if i.Always != "" {
			always = ""
		}
		fmt.Fprintf(b, "Decide with `mcp-toolset approve %d`%s or `mcp-toolset deny %d`.\n", i.Number, always, i.Number)
	case pending:
		b.WriteString("\n`mcp-toolset approvals N` shows one in full.")
		if slices.ContainsFunc(l.Items, func(i approval.Item) bool { return !i.Approved && i.Questions == nil }) {
			b.WriteString(" Decide with `mcp-toolset approve N`, `mcp-toolset approve N --always` or `mcp-toolset deny N`.")
		}
		if slices.ContainsFunc(l.Items, func(i approval.Item) bool { return !i.Approved && i.Questions != nil }) {
			b.WriteString(" Answer a question with `mcp-toolset answer N`, or decline with `mcp-toolset deny N`.")
		}
		b.WriteString("\n")
	case !l.whole:
		b.WriteString("Nothing waits for an approval.\n")
	}
	if len(l.Declined) > 0 {
		b.WriteString("\nDeclined, until the conversation ends or `mcp-toolset approvals --lift N`:\n")
		for _, d := range l.Declined {
			fmt.Fprintf(b, "  %-4s %s, at %s, server %s\n", declinedNumber(d.Number), approval.SubjectText(d.Tool, d.Subject), d.Since.Local().Format(timeForm), plain.Text(d.Server))
		}
	}
	if len(l.always) > 0 {
		b.WriteString("\nAlways allowed, until `mcp-toolset approvals --forget N`:\n")
		for _, e := range l.always {
			fmt.Fprintf(b, "  %-4d %s, workspace %s, since %s\n", e.Number, approval.SubjectText(e.Tool, e.Subject), plain.Text(strings.Join(e.Roots, ", ")), e.When.Local().Format(timeForm))
		}
	}
	for _, problem := range l.Silent {
		fmt.Fprintf(b, "\nProblem: %s\n", plain.Text(problem))
	}
}

// table writes the approvals, one line for each.
func (l *approvalList) table(b *bytes.Buffer) {
	list := table{cut: []int{3, 2}}
	for _, i := range l.Items {
		state := age(time.Since(i.Since))
		if i.Approved {
			state = decided(i) + ", not used yet"
		}
		reason := "the model asks"
		if i.Questions == nil {
			reason = strings.TrimPrefix(i.Reason, i.Subject.Value+" ")
		}
		list.row(strconv.Itoa(i.Number), brief(i.Tool, listedWhat), listed(i), "("+brief(reason, listedReason)+")", state)
	}
	list.write(b, l.screen)
}

// decided returns how a call that waits to be sent again was decided.
func decided(i approval.Item) string {
	if i.Questions != nil {
		return "answered"
	}
	return "approved"
}

// what returns the command or path of a call, or its title, or its input if it has neither.
func what(i approval.Item) string {
	switch {
	case i.Subject.Kind != "input" && i.Subject.Value != "":
		return i.Subject.Value
	case i.Title != "":
		return i.Title
	}
	return string(i.Input)
}

// listed returns what, shortened to listedWhat characters. Of a path it retains the end.
func listed(i approval.Item) string {
	shown := []rune(plain.Text(what(i)))
	if i.Subject.Kind == "path" && len(shown) > listedWhat {
		return "…" + string(shown[len(shown)-listedWhat+1:])
	}
	return brief(what(i), listedWhat)
}

// brief returns the first line of a text, shortened to most characters and safe to show.
func brief(text string, most int) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	shown := []rune(plain.Text(line))
	if len(shown) <= most && rest == "" {
		return string(shown)
	}
	return string(shown[:min(len(shown), most-1)]) + "…"
}

// age formats the time since an event.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(d.Hours()))
}

func declinedNumber(n int) string {
	if n == 0 {
		return "-" // no number could be drawn
	}
	return fmt.Sprint(n)
}

// item writes one approval with everything that it is bound to.
func (l *approvalList) item(b *bytes.Buffer, i approval.Item) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-10s %s\n", name, plain.Text(value))
		}
	}
	kind := "Approval"
	if i.Questions != nil {
		kind = "Question"
	}
	if i.Approved {
		fmt.Fprintf(b, "%s %d, %s and not used yet, until %s\n", kind, i.Number, decided(i), i.Ends.Local().Format(timeForm))
	} else {
		fmt.Fprintf(b, "%s %d, pending since %s, until %s\n", kind, i.Number, i.Since.Local().Format(timeForm), i.Ends.Local().Format(timeForm))
	}
	row("tool", i.Tool)
	row("title", i.Title)
	row("folder", i.Dir)
	row("workspace", i.Root)
	asker := approval.AskedBy(i)
	if i.Client != "" {
		asker += ", as it calls itself"
	}
	row("asked by", asker)
	row("user", i.Principal)
	row("server", i.Server)
	if i.Questions != nil {
		for line := range strings.Lines(question.Text(i.Questions)) {
			fmt.Fprintf(b, "  %s", line)
		}
		return
	}
	row("why", i.Reason)
	row("opens", i.Subject.Opens)
	row("allows", approval.FurtherText(i))
	if i.Always == "" {
		row("--always", "also allows "+approval.SubjectText(i.Tool, i.Subject)+", in the workspace "+i.Root)
	} else {
		row("--always", "is not on offer: "+i.Always)
	}
	if i.Preview == "" {
		l.input(b, i)
		return
	}
	b.WriteString("  change\n")
	for line := range strings.Lines(i.Preview) {
		fmt.Fprintf(b, "    %s\n", plain.Lines(strings.TrimSuffix(line, "\n")))
	}
	if i.Partial {
		fmt.Fprintf(b, "  %-10s %x of the whole input, which `mcp-toolset approvals --json %d` prints\n", "SHA-256", sha256.Sum256(i.Input), i.Number)
	}
}

// input writes the input of a call as JSON. Its strings are unchanged, except that characters that
// do not print are escaped.
func (l *approvalList) input(b *bytes.Buffer, i approval.Item) {
	input := bytes.TrimSpace(i.Input)
	if len(input) <= shortInput && !bytes.ContainsAny(input, "\t\r\n") {
		fmt.Fprintf(b, "  %-10s %s\n", "input", approval.Printable(string(input)))
		return
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, input, "    ", "  "); err != nil {
		indented.Reset()
		indented.Write(input)
	}
	fmt.Fprintf(b, "  input\n    %s\n", approval.Printable(indented.String()))
}

// json writes the list for programs. Keys are added, never changed.
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
	b.WriteString(approval.Printable(raw.String()))
	return err
}
