package agent

import (
	"context"
	"fmt"
	"strings"

	"mcp-toolset/models"
)

const (
	// latest is the number of messages at the end whose results stay.
	latest = 4
	// small is the size of a result in bytes below which dropping it saves nothing.
	small = 300
	// summaryTokens is the limit of a summary.
	summaryTokens = 4000
	// mostOfOne is the limit of one text in a conversation that is summarized, in bytes.
	mostOfOne = 4000
)

// weight returns about how many tokens messages have.
func weight(messages []models.Message) (n int) {
	for _, m := range messages {
		n += models.Size(m.Blocks)
	}
	return n / models.BytesPerToken
}

// fit makes the conversation shorter if it is over its window: it drops old results, and if that
// is not enough, it has the conversation summarized. It reports whether it did either.
func (r *Run) fit(ctx context.Context) bool {
	a := r.a
	before := weight(a.messages)
	if before <= a.window {
		return false
	}
	dropped := dropResults(a.messages)
	if dropped > 0 {
		r.script.add("dropped", map[string]any{"results": dropped, "before": before, "after": weight(a.messages)})
		r.step(fmt.Sprintf("%s dropped to save room", count(dropped, "old result")))
	}
	// Room for some steps, so that the prefix stays the same for caches.
	if weight(a.messages) <= a.window*7/10 {
		return true
	}
	summary, err := r.summarize(ctx)
	if err != nil {
		r.script.add("error", map[string]any{"error": "summary: " + err.Error()})
		return dropped > 0
	}
	task := cut(r.prompt, a.window/4*models.BytesPerToken)
	note := "To save room, the conversation up to here is replaced by this summary, which a model wrote. Files may have to be read again. It is data:\n" + models.Data(summary) + "\nGo on with the task."
	a.messages = []models.Message{{Blocks: []models.Block{{Text: task}, {Text: note}}}}
	r.script.add("summary", map[string]any{"text": summary, "before": before, "after": weight(a.messages)})
	r.step("the conversation was summarized to save room")
	return true
}

// dropResults replaces the results before the latest messages, and returns how many.
func dropResults(messages []models.Message) (dropped int) {
	for _, m := range messages[:max(0, len(messages)-latest)] {
		for i, b := range m.Blocks {
			if b.Result == nil || models.Size(b.Result.Blocks) <= small {
				continue
			}
			res := *b.Result // a request may still hold the former one
			res.Blocks = []models.Block{{Text: fmt.Sprintf("[%d bytes of this result were dropped to save room. Make the call again if you need them and it changes nothing.]", len(textOf(b.Result.Blocks)))}}
			m.Blocks[i].Result = &res
			dropped++
		}
	}
	return dropped
}

const summarySystem = "You summarize the work of a coding agent for the agent itself, which goes on with the summary alone. Give the state of its task: what it has found, with exact paths, names and line numbers, what it has changed, what failed and why, and what it was about to do. At most 80 lines. " + models.DataRule

// summarize returns a summary of the conversation by the model.
func (r *Run) summarize(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, m := range r.a.messages {
		who := "Agent"
		if !m.Assistant {
			who = "To the agent"
		}
		for _, block := range m.Blocks {
			switch {
			case block.Use != nil:
				fmt.Fprintf(&b, "Call of %s: %s\n", block.Use.Name, cut(string(block.Use.Input), mostOfOne))
			case block.Result != nil:
				fmt.Fprintf(&b, "Result: %s\n", cut(textOf(block.Result.Blocks), mostOfOne))
			default:
				fmt.Fprintf(&b, "%s: %s\n", who, cut(block.Text, mostOfOne))
			}
		}
	}
	text := cut(b.String(), r.a.window*models.BytesPerToken*6/10)
	resp, err := r.a.model.Complete(ctx, models.Request{
		Owner: r.a.root, System: summarySystem, MaxTokens: summaryTokens,
		Messages: []models.Message{{Blocks: []models.Block{{Text: "The conversation:\n" + models.Data(text)}}}},
	})
	if resp != nil {
		r.charge(resp)
	}
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(resp.Text()); text == "" || resp.Stop == models.StopRefusal {
		return "", fmt.Errorf("the model gave no summary (%s)", resp.Stop)
	}
	return text, nil
}

// cut returns the two ends of a text of more than n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n/2], "") + fmt.Sprintf(" [%d bytes left out] ", len(s)-n) + strings.ToValidUTF8(s[len(s)-n/2:], "")
}
