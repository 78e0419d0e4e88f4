package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
)

// explained is the explanation of a call for programs. Keys are added, never changed.
type explained struct {
	Tool            string          `json:"tool"`
	Decision        string          `json:"decision"`
	Layer           string          `json:"layer"`
	Rule            string          `json:"rule"`
	Source          string          `json:"source"`
	Line            int             `json:"line"`
	ReadOnly        bool            `json:"read_only"`
	ConcurrencySafe bool            `json:"concurrency_safe"`
	Commands        []string        `json:"commands"`
	Parts           []explainedPart `json:"parts"` // one for each of Commands
	Hooks           int             `json:"hooks"`
	Reason          string          `json:"reason"`
	Next            string          `json:"next"`
	Error           string          `json:"error,omitempty"`
}

// explainedPart is the explanation of one part of a command.
type explainedPart struct {
	Text     string `json:"text"`
	Decision string `json:"decision"`
	Layer    string `json:"layer"`
	Rule     string `json:"rule"`
	Source   string `json:"source"`
	Line     int    `json:"line"`
	Reason   string `json:"reason"`
	Decides  bool   `json:"decides,omitempty"` // the call is not allowed because of this part
}

// forPrograms converts an explanation for programs. Lists are never null.
func forPrograms(e pipeline.Explanation) explained {
	x := explained{
		Tool: e.Tool, Decision: e.Decision.Behavior.String(), Layer: e.Decision.Layer,
		Rule: e.Decision.Rule, Source: e.Decision.Source, Line: e.Decision.Line,
		ReadOnly: e.Facts.ReadOnly, ConcurrencySafe: e.Facts.ConcurrencySafe,
		Commands: append([]string{}, e.Commands...), Parts: []explainedPart{}, Hooks: e.Hooks,
		Reason: e.Decision.Reason, Next: e.Decision.Next, Error: e.Error,
	}
	for i, d := range e.Parts {
		x.Parts = append(x.Parts, explainedPart{d.Text, d.Behavior.String(), d.Layer, d.Rule, d.Source, d.Line, d.Reason, slices.Contains(e.Deciding, i)})
	}
	return x
}

// describe writes an explanation for the user. A > marks the parts because of which the call is not
// allowed.
func describe(b *bytes.Buffer, e pipeline.Explanation, c screen) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-17s %s\n", name, plain.Text(value))
		}
	}
	tool := e.Tool
	if tool == "" {
		tool = "no call"
	}
	fmt.Fprintf(b, "%s: %s\n", plain.Text(tool), c.judged(e.Decision.Behavior.String()))
	row("decided by", e.Decision.Layer)
	row("rule", e.Decision.Rule)
	row("of", e.Decision.Location())
	row("reason", e.Decision.Reason)
	row("next", e.Decision.Next)
	if e.Error != "" {
		return // reason and next repeat it, and there are no facts
	}
	row("read-only", yesNo(e.Facts.ReadOnly))
	row("concurrency-safe", yesNo(e.Facts.ConcurrencySafe))
	name := "commands"
	for i, d := range e.Parts {
		mark, behavior, why := " ", d.Behavior, decidedBy(d)
		if slices.Contains(e.Deciding, i) {
			mark = ">"
			if behavior != e.Decision.Behavior { // on its own the part would be allowed
				behavior, why = e.Decision.Behavior, e.Decision.Layer+": the reason above"
			}
		}
		word := behavior.String()
		fmt.Fprintf(b, "  %-15s %s %s%*s  %s  (%s)\n", name, mark, c.judged(word), 5-len(word), "", plain.Text(plain.Line(strings.TrimSpace(d.Text))), plain.Text(why))
		name = ""
	}
	if e.Hooks > 0 {
		row("hooks", fmt.Sprintf("%d would run first and may decide otherwise; none was started for this", e.Hooks))
	}
}

// decidedBy names what decided on a part.
func decidedBy(d policy.PartDecision) string {
	if where := d.Location(); where != "" {
		return fmt.Sprintf("%s %s of %s", d.Layer, d.Rule, where)
	}
	return d.Layer + ": " + d.Reason
}
