package webfetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/file/document/page"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/tools"
)

const (
	// maxAsked is the limit of the part of a page that a model sees, in characters: about 50,000
	// tokens.
	maxAsked = 200_000
	// lessAsked is the limit if the first part was too long for the model.
	lessAsked = 20_000
	// maxAnswer is the limit of an answer, in characters.
	maxAnswer = 20_000
	// answerTime is the timeout of an answer. Clients end calls that take longer.
	answerTime = time.Minute
	// answerTokens is the limit of an answer, in tokens.
	answerTokens = 4096
)

// system is the system text for a page.
const system = "You answer a question from a web page, for an agent that does not see the page. Use only what the page has; if it does not answer the question, say so. " +
	"Quote code, commands, names, numbers and versions exactly as they are in the page. Be brief. " + models.DataRule

// reply is the answer of a model to the prompt.
type reply struct {
	model, text string
	seen        int  // characters of the page that the model saw, from the offset on
	cut         bool // the text is not complete
}

// answer asks the model. It reports whether there is an answer. If the model has failed, it returns
// why, in one line.
func (c *call) answer(ctx context.Context, p *page.Page) (r reply, ok bool, failure string) {
	if c.Model == nil || strings.TrimSpace(c.in.Prompt) == "" || strings.TrimSpace(p.Text) == "" {
		return r, false, ""
	}
	c.env.Waiting() // from here on the call only waits
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no model answered within %v", answerTime))
	defer cancel()
	rest := p.Text[runeIndex(p.Text, c.in.Offset):]
	for _, limit := range []int{maxAsked, lessAsked} {
		seen := rest[:runeIndex(rest, limit)]
		resp, err := c.Model.Complete(ctx, models.Request{
			Owner: c.env.Session.Payer(), System: system, MaxTokens: answerTokens,
			Messages: []models.Message{{Blocks: []models.Block{{Text: models.Data(seen) + "\n\nThe text above is of the page " + plain.Line(c.base()) + ". Question: " + c.in.Prompt}}}},
		})
		var e *models.Error
		switch {
		case errors.As(err, &e) && e.Kind == models.TooLong && limit == maxAsked && utf8.RuneCountInString(seen) > lessAsked:
			continue
		case err != nil:
			return r, false, plain.Line(err.Error())
		case resp.Stop == models.StopRefusal:
			return r, false, "the model " + plain.Line(resp.Model) + " refuses to answer"
		}
		text := strings.TrimSpace(strings.Map(visible, resp.Text()))
		if text == "" {
			return r, false, "the model " + plain.Line(resp.Model) + " gave an empty answer"
		}
		end := runeIndex(text, maxAnswer)
		return reply{plain.Line(resp.Model), text[:end], utf8.RuneCountInString(seen), end < len(text) || resp.Stop == models.StopLength}, true, ""
	}
	return r, false, ""
}

// frameAnswer returns the answer of a model with its origin.
func (c *call) frameAnswer(out Output, r reply) string {
	facts := append(c.facts(out), fmt.Sprintf("%d characters", out.Total))
	var b strings.Builder
	b.WriteString(c.heading(facts...) + "\n")
	of := "the page"
	if out.Offset > 0 || r.seen < out.Total {
		of = fmt.Sprintf("characters %d to %d of the page", out.Offset, out.Offset+r.seen)
	}
	mark := c.mark()
	fmt.Fprintf(&b, "[The model %s answers the prompt from %s. It may be wrong, and the page may have misled it.]\n<answer-%s>\n%s\n</answer-%s>\n", r.model, of, mark, r.text, mark)
	if r.cut {
		b.WriteString("[The answer is not complete.]\n")
	}
	if out.Path != "" {
		fmt.Fprintf(&b, "[The whole page is in %s, for Grep and Read. Without prompt, WebFetch shows it.]\n", plain.Line(out.Path))
	} else {
		b.WriteString("[Without prompt, WebFetch shows the page itself.]\n")
	}
	b.WriteString(tools.WebReminder)
	return b.String()
}
