package cli

import (
	"bytes"
	"fmt"
	"strings"
)

// checkColumn is the column at which the details of checks begin.
const checkColumn = 22

// summary writes one line for each check, followed by its next step.
func (d *diagnosis) summary(b *bytes.Buffer, c console) {
	counts := map[string]int{}
	for _, k := range d.Checks {
		counts[k.Status]++
		fmt.Fprintf(b, "%s%*s  %-*s%s\n", c.judged(k.Status), 4-len(k.Status), "", checkColumn-6, k.Name, hanging(k.Detail, c))
		if k.Next != "" {
			fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", checkColumn), hanging("next: "+k.Next, c))
		}
	}
	switch {
	case counts[checkFail] > 0:
		fmt.Fprintf(b, "\n%d failed, %s\n", counts[checkFail], count(counts[checkWarn], "warning"))
	case counts[checkWarn] > 0:
		fmt.Fprintf(b, "\nnothing failed, %s\n", count(counts[checkWarn], "warning"))
	default:
		b.WriteString("\nall is well; mcp-toolset stdio DIR is the command to add to an MCP client\n")
	}
}

// hanging wraps a text that begins at checkColumn at the console's width.
func hanging(text string, c console) string {
	if c.width < 2*checkColumn {
		return text
	}
	indent := strings.Repeat(" ", checkColumn)
	return strings.TrimPrefix(indentedFill(text, indent, c.width), indent)
}

// count formats a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
