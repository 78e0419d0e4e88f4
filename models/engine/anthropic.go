package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"mcp-toolset/models"
)

// messages is the engine of the Messages API.
type messages struct {
	*client
	service anthropic.MessageService
}

func newAnthropic(e models.Endpoint, c *client) *messages {
	return &messages{c, anthropic.NewMessageService(
		// The service takes nothing from the environment, unlike anthropic.NewClient. Of the
		// tracing, only these options keep the environment out.
		option.WithOpenTelemetryTraces(false), option.WithOpenTelemetryPropagation(false),
		option.WithBaseURL(e.URL), option.WithHTTPClient(c.http()), option.WithMaxRetries(0),
	)}
}

// Attempt implements models.Engine.
func (m *messages) Attempt(ctx context.Context, r models.Request) (*models.Response, error) {
	stream := m.service.NewStreaming(ctx, params(m.Endpoint, r))
	defer stream.Close()
	a, ended := new(answer), false
	byIndex := map[int64]*part{}
	for !ended && stream.Next() {
		switch e := stream.Current(); e.Type {
		case "message_start":
			a.count(e.Message.Usage.InputTokens, e.Message.Usage.OutputTokens, e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens)
		case "content_block_start":
			switch e.ContentBlock.Type {
			case "text":
				byIndex[e.Index] = a.begin(false)
				a.add(byIndex[e.Index], e.ContentBlock.Text)
			case "tool_use":
				p := a.begin(true)
				p.call(e.ContentBlock.ID, e.ContentBlock.Name)
				if whole, ok := e.ContentBlock.Input.(map[string]any); ok && len(whole) > 0 { // some servers send it at once
					text, _ := json.Marshal(whole)
					a.add(p, string(text))
				}
				byIndex[e.Index] = p
			}
		case "content_block_delta":
			if p := byIndex[e.Index]; p != nil && p.use {
				a.add(p, e.Delta.PartialJSON)
			} else if p != nil {
				a.add(p, e.Delta.Text)
			}
		case "message_delta":
			a.stop = stopOf(string(e.Delta.StopReason))
			a.count(e.Usage.InputTokens, e.Usage.OutputTokens, e.Usage.CacheReadInputTokens, e.Usage.CacheCreationInputTokens)
		case "message_stop":
			ended = true
		}
		if err := a.tooLarge(m.Endpoint); err != nil {
			return a.partial(), err
		}
	}
	var api *anthropic.Error
	err := stream.Err()
	switch {
	case errors.As(err, &api):
		return a.partial(), m.inStream(typeOf([]byte(api.RawJSON())))
	case err != nil:
		return a.partial(), m.broken(ctx, err)
	case ctx.Err() != nil:
		return a.partial(), context.Cause(ctx)
	case !ended && len(a.parts) == 0 && a.usage.Total() == 0:
		return nil, malformed(m.Endpoint)
	case !ended, a.stop == "":
		return a.partial(), dropped(m.Endpoint)
	}
	return a.response(), nil
}

// count sets the numbers of tokens that are known. Those of later events include those of earlier.
func (a *answer) count(input, output, cacheRead, cacheWrite int64) {
	for to, n := range map[*int]int64{&a.usage.Input: input, &a.usage.Output: output, &a.usage.CacheRead: cacheRead, &a.usage.CacheWrite: cacheWrite} {
		*to = max(*to, int(min(n, 1<<40)))
	}
}

// stopOf returns the meaning of a stop reason of the Messages API, or "" if there is none.
func stopOf(reason string) models.Stop {
	switch reason {
	case "":
		return ""
	case "tool_use":
		return models.StopTools
	case "max_tokens", "model_context_window_exceeded":
		return models.StopLength
	case "refusal":
		return models.StopRefusal
	}
	return models.StopEnd
}

// params returns a request in the form of the Messages API.
func params(e models.Endpoint, r models.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: anthropic.Model(e.Name), MaxTokens: int64(r.MaxTokens)}
	if r.System != "" {
		block := anthropic.TextBlockParam{Text: r.System}
		if r.Cache {
			block.CacheControl = anthropic.NewCacheControlEphemeralParam() // covers the tools, too
		}
		p.System = []anthropic.TextBlockParam{block}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description), InputSchema: param.Override[anthropic.ToolInputSchemaParam](t.Schema),
		}})
	}
	if r.NoUse && len(r.Tools) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		p.ToolChoice.OfNone = &none
	}
	for _, m := range r.Messages {
		role := anthropic.MessageParamRoleUser
		if m.Assistant {
			role = anthropic.MessageParamRoleAssistant
		}
		p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: blocks(m.Blocks)})
	}
	marks := 2
	for i := len(p.Messages) - 1; r.Cache && i >= 0 && marks > 0; i-- {
		if content := p.Messages[i].Content; p.Messages[i].Role == anthropic.MessageParamRoleUser && len(content) > 0 {
			if at := content[len(content)-1].GetCacheControl(); at != nil {
				*at = anthropic.NewCacheControlEphemeralParam()
				marks--
			}
		}
	}
	return p
}

func blocks(list []models.Block) (out []anthropic.ContentBlockParamUnion) {
	for _, b := range list {
		switch {
		case b.Image != nil:
			out = append(out, anthropic.NewImageBlockBase64(b.Image.MIMEType, base64.StdEncoding.EncodeToString(b.Image.Data)))
		case b.Use != nil:
			out = append(out, anthropic.NewToolUseBlock(b.Use.ID, b.Use.Input, b.Use.Name))
		case b.Result != nil:
			out = append(out, anthropic.ContentBlockParamUnion{OfToolResult: resultOf(b.Result)})
		case b.Text != "": // the API refuses empty ones
			out = append(out, anthropic.NewTextBlock(b.Text))
		}
	}
	return out
}

func resultOf(r *models.Result) *anthropic.ToolResultBlockParam {
	out := &anthropic.ToolResultBlockParam{ToolUseID: r.ID, IsError: anthropic.Bool(r.Failed)}
	for _, b := range r.Blocks {
		switch {
		case b.Image != nil:
			image := anthropic.NewImageBlockBase64(b.Image.MIMEType, base64.StdEncoding.EncodeToString(b.Image.Data))
			out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: image.OfImage})
		case b.Text != "":
			out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: b.Text}})
		}
	}
	return out
}
