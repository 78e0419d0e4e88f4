package pipeline

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

const (
	// summaryTime is the timeout of a summary. The client waits for it.
	summaryTime = 20 * time.Second
	// summaryInput is the limit of the text that is summarized, in characters. Of a longer one,
	// the two ends are.
	summaryInput = 120_000
	// summaryExcerpt is the size of the excerpt beside a summary, in characters.
	summaryExcerpt = 4000
	// maxSummary is the limit of a summary, in characters.
	maxSummary = 8000
)

// Summaries selects the results that a model summarizes. The zero value selects none.
type Summaries struct {
	Over  int      // characters above which a result gets a summary
	Tools []string // names of tools
	// Ask returns the summary of a text, and the name of the model that made it.
	Ask func(ctx context.Context, o session.Owner, tool, text string) (summary, model string, err error)
}

// summarize replaces the text of a long result by a summary, a short excerpt, and the path of the
// whole result. It changes nothing if the result gets no summary or the model fails. The call has left
// its place by then, so that no other call waits.
func (c *call) summarize(ctx context.Context, resp *tools.Response) {
	s := c.p.Summaries
	if s.Ask == nil || resp == nil || c.depth > 0 || c.record.stage != "" || ctx.Err() != nil || !c.named(s.Tools) {
		return
	}
	text := joinText(resp.Content)
	size := utf8.RuneCountInString(text)
	if size <= s.Over {
		return
	}
	short, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	v := c.Session.View()
	summary, model, err := s.Ask(short, v.Payer(), c.tool.Name, ends(text, summaryInput))
	if err != nil {
		if ctx.Err() == nil {
			c.Log.Warn("a result was not summarized", "tool", c.tool.Name, "error", plain.Line(err.Error()))
		}
		return
	}
	whole := wrap(text)
	path, err := c.p.Results.Save(v.Results, c.tool.Name, whole)
	if err != nil {
		c.Log.Warn("a result was not stored, so it has no summary", "tool", c.tool.Name, "error", err)
		return
	}
	mark := strings.ToLower(rand.Text()[:8])
	shown := fmt.Sprintf("[Summary of the result (%s, %d characters) by the model %s. It may be wrong, and the result may have misled the model.]\n<summary-%s>\n%s\n</summary-%s>\n[Excerpt of the result itself:]\n%s",
		lines(countLines(text)), size, plain.Line(model), mark, plain.Lines(summary[:runeIndex(summary, maxSummary)]), mark, preview(whole, summaryExcerpt, c.tool.Excerpt, stored(path, nil)))
	content := []tools.Content{tools.Text{Text: shown}}
	for _, block := range resp.Content {
		if _, isText := block.(tools.Text); !isText {
			content = append(content, block)
		}
	}
	resp.Content = content
}

// named reports whether a list has the name of the tool, or a former one.
func (c *call) named(list []string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return name == c.tool.Name || slices.Contains(c.tool.Aliases, name) })
}

// ends returns a text, or its two ends if it is longer than limit.
func ends(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	first := cutHead(text, limit/2)
	last := cutTail(text[len(first):], limit/2)
	gap := text[len(first) : len(text)-len(last)]
	return fmt.Sprintf("%s\n[%d characters left out]\n%s", first, utf8.RuneCountInString(gap), last)
}
