package websearch

import (
	"fmt"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// spent is the answer of a session without searches left.
var spent = fmt.Sprintf("[This session has made all of its %d searches. Go on with what was found; do not search again.]", mostSearches)

// text returns the output for the model. No text of the web can begin a line that is not indented
// or after >.
func (o Output) text() string {
	var b strings.Builder
	switch {
	case o.notice != "":
		return o.notice
	case o.Text != "":
		fmt.Fprintf(&b, "Answer of %s:\n", plain.Line(o.Provider))
		for line := range strings.SplitSeq(o.Text, "\n") {
			b.WriteString(strings.TrimRight("> "+plain.Text(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")), " ") + "\n")
		}
		return b.String() + tools.WebReminder
	case len(o.Results) == 0:
		return o.nothing()
	}
	fmt.Fprintf(&b, "%s from %s:\n", count(len(o.Results)), o.Provider)
	for i, r := range o.Results {
		fmt.Fprintf(&b, "%d. %s", i+1, r.Title)
		if r.Date != "" {
			fmt.Fprintf(&b, " (%s)", r.Date)
		}
		fmt.Fprintf(&b, "\n   %s\n", r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	if o.found.More > 0 {
		fmt.Fprintf(&b, "[%d more left out; a narrower query finds others]\n", o.found.More)
	}
	if len(o.found.Silent) > 0 {
		fmt.Fprintf(&b, "[did not answer: %s]\n", strings.Join(o.found.Silent, ", "))
	}
	return b.String() + tools.WebReminder
}

// nothing returns the line for a search without results.
func (o Output) nothing() string {
	text := fmt.Sprintf("%s has no results for %s", plain.Line(o.Provider), plain.Quote(o.query))
	if o.lists {
		text += " in these domains"
	}
	if len(o.found.Silent) > 0 {
		text += "; these of its engines did not answer: " + strings.Join(o.found.Silent, ", ")
	}
	if o.lists {
		return text + ". Try other words or other domains."
	}
	return text + ". Try other or fewer words."
}

func count(n int) string {
	if n == 1 {
		return "1 result"
	}
	return fmt.Sprintf("%d results", n)
}
