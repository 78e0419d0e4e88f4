package pipeline

import (
	"cmp"
	"context"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// classify is the stage that asks the classifier about a call that nothing else
// has decided.
func (c *call) classify(ctx context.Context) error {
	mode := c.rules.Mode()
	if !c.decision.Open || c.set.Classify == nil || mode == policy.ModeManual {
		return nil
	}
	opinion := c.set.Classify(ctx, classifier.Question{
		Tool: cmp.Or(c.prepared.As, c.tool.Name), Summary: c.prepared.Summary, Input: c.classifierInput(ctx), Mode: string(mode), Dir: c.env.Session.Dir, Owner: c.env.Session.Payer(),
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.judged, c.decision = opinion, c.decision.Classified(opinion)
	return nil
}

// classifierInput returns the text that describes the call to the classifier.
// It is the tool's own text, or the preview of the changes, which begins with
// the path, or the input. A preview that leaves something out does not show the
// whole call, so the input follows it. Of a file that may hold credentials, it
// is only the path.
func (c *call) classifierInput(ctx context.Context) string {
	if in := c.prepared.ClassifierInput(); in != "" {
		return in
	}
	if c.decision.Secret {
		return c.prepared.Path + "\n[The content is not shown, because the file may hold credentials.]"
	}
	preview := c.previewOf(ctx)
	switch input := string(audit.Redact(c.prepared.Input())); {
	case preview.Text == "":
		return input
	case preview.Partial:
		return preview.Text + "\n" + input
	}
	return preview.Text
}

// previewOf returns the preview of the changes. It shows no file that may hold
// credentials.
func (c *call) previewOf(ctx context.Context) tools.Preview {
	c.preview.Store(true)
	defer c.preview.Store(false)
	return c.prepared.Preview(ctx, c.env)
}
