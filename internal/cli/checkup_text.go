package cli

import (
	"bytes"
	"fmt"
	"strings"
)

// checkColumn is the column at which the details of checks begin. On a narrow screen they begin at
// narrowColumn, below the name.
const checkColumn, narrowColumn = 24, 6

// column returns the column at which the details of checks begin on a screen.
func column(c screen) int {
	if c.width > 0 && c.width < 2*checkColumn {
		return narrowColumn
	}
	return checkColumn
}

// summary writes one line for each check, followed by its next step.
func (d *diagnosis) summary(b *bytes.Buffer, c screen) {
	counts := map[string]int{}
	for _, k := range d.Checks {
		counts[k.Status]++
		name := fmt.Sprintf("%-*s", checkColumn-6, k.Name)
		if column(c) == narrowColumn {
			name = k.Name + "\n" + strings.Repeat(" ", narrowColumn)
		}
		fmt.Fprintf(b, "%s%*s  %s%s\n", c.judged(k.Status), 4-len(k.Status), "", name, hanging(k.Detail, c))
		if k.Next != "" {
			fmt.Fprintf(b, "%*s%s\n", column(c), "", hanging("next: "+k.Next, c))
		}
	}
	switch {
	case counts[checkFail] > 0:
		fmt.Fprintf(b, "\n%d failed, %s\n", counts[checkFail], count(counts[checkWarn], "warning"))
	case counts[checkWarn] > 0:
		fmt.Fprintf(b, "\nnothing failed, %s\n", count(counts[checkWarn], "warning"))
	default:
		b.WriteString("\nall is well\n")
	}
}

// details writes the findings that the checks summarize, other than those about the sandbox.
func (d *diagnosis) details(b *bytes.Buffer, c screen) {
	var list table
	for _, f := range d.Clients {
		list.row("  "+f.Name, f.State, f.File)
	}
	section(b, c, "Clients", list)
	list = table{}
	for _, f := range d.Settings {
		list.row("  "+f.Layer, f.Path, f.Standing)
	}
	section(b, c, "Settings", list)
	list = table{}
	for _, t := range d.NotOffered {
		list.row("  "+t.Tool, t.Reason)
	}
	section(b, c, "Tools not offered", list)
}

// section writes a table below a title, if it has rows.
func section(b *bytes.Buffer, c screen, title string, list table) {
	if len(list.rows) > 0 {
		fmt.Fprintf(b, "\n%s\n", title)
		list.write(b, c)
	}
}

// hanging wraps the details of a check at the screen's width.
func hanging(text string, c screen) string {
	if c.width == 0 {
		return text
	}
	indent := strings.Repeat(" ", column(c))
	return strings.TrimPrefix(indentedFill(text, indent, c.width), indent)
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
