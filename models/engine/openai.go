package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"

	"mcp-toolset/models"
)

// completions is the engine of APIs compatible with OpenAI's Chat Completions.
type completions struct {
	*client
	api *openai.Client
}

func newOpenAI(e models.Endpoint, c *client) *completions {
	config := openai.DefaultConfig("") // client.go has the key
	config.BaseURL, config.HTTPClient = strings.TrimRight(e.URL, "/"), c.http()
	config.EmptyMessagesLimit = math.MaxInt32 // servers send comments while a model thinks
	return &completions{c, openai.NewClientWithConfig(config)}
}

// Attempt implements models.Engine.
func (c *completions) Attempt(ctx context.Context, r models.Request) (*models.Response, error) {
	stream, err := c.api.CreateChatCompletionStream(ctx, c.request(r))
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	defer stream.Close()
	a := new(answer)
	var text *part
	uses, refused := map[int]*part{}, false
	var last *part // the last use, for servers that give no index
	for {
		event, err := stream.Recv()
		if err != nil {
			var api *openai.APIError
			switch {
			case ctx.Err() != nil:
				return a.partial(), context.Cause(ctx)
			case errors.Is(err, io.EOF) && a.stop != "":
				if refused {
					a.stop = models.StopRefusal
				}
				return a.response(), nil
			case errors.Is(err, io.EOF) && len(a.parts) == 0:
				return nil, malformed(c.Endpoint)
			case errors.As(err, &api):
				return a.partial(), c.inStream(typeOfError(api))
			}
			return a.partial(), c.broken(ctx, err)
		}
		if u := event.Usage; u != nil {
			cached := 0
			if u.PromptTokensDetails != nil {
				cached = u.PromptTokensDetails.CachedTokens
			}
			a.count(int64(u.PromptTokens-cached), int64(u.CompletionTokens), int64(cached), 0)
		}
		for _, choice := range event.Choices {
			if choice.Index != 0 {
				continue
			}
			delta := choice.Delta
			refused = refused || delta.Refusal != ""
			if said := delta.Content + delta.Refusal; said != "" {
				if text == nil {
					text = a.begin(false)
				}
				a.add(text, said)
			}
			for _, call := range delta.ToolCalls {
				p := last
				switch {
				case call.Index != nil:
					p = uses[*call.Index]
				case call.ID != "":
					p = nil // another one
				}
				if p == nil {
					p = a.begin(true)
					if call.Index != nil {
						uses[*call.Index] = p
					}
				}
				last = p
				p.call(call.ID, call.Function.Name)
				a.add(p, call.Function.Arguments)
			}
			if choice.FinishReason != "" {
				a.stop = finishOf(choice.FinishReason, a.uses > 0)
			}
		}
		if err := a.tooLarge(c.Endpoint); err != nil {
			return a.partial(), err
		}
	}
}

// finishOf returns the meaning of a finish reason. Some servers give "stop" for tool calls.
func finishOf(reason openai.FinishReason, uses bool) models.Stop {
	switch {
	case reason == openai.FinishReasonLength:
		return models.StopLength
	case reason == openai.FinishReasonContentFilter:
		return models.StopRefusal
	case uses && (reason == openai.FinishReasonToolCalls || reason == openai.FinishReasonStop):
		return models.StopTools
	}
	return models.StopEnd
}

// typeOfError returns the code or type of an error within a stream, or "".
func typeOfError(e *openai.APIError) string {
	if code, ok := e.Code.(string); ok && isErrorType(code) {
		return code
	}
	if isErrorType(e.Type) {
		return e.Type
	}
	return ""
}

// newer matches the models and hosts that want max_completion_tokens. All other servers know
// max_tokens.
var newer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(o\d|gpt-[5-9])|(^|\.)openai\.com$|\.openai\.azure\.com$`)
})

// request returns a request in the form of Chat Completions.
func (c *completions) request(r models.Request) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: c.Name, StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	if newer().MatchString(c.Name) || newer().MatchString(c.at.Host) {
		out.MaxCompletionTokens = r.MaxTokens
	} else {
		//lint:ignore SA1019 many servers know no other
		out.MaxTokens = r.MaxTokens
	}
	if r.System != "" {
		out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, chat(m)...)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: json.RawMessage(t.Schema),
		}})
	}
	if r.NoUse && len(r.Tools) > 0 {
		out.ToolChoice = "none"
	}
	return out
}

// chat returns a message in the form of Chat Completions, where each result is a message. Results
// have only text there, so that their images are in a message of the user after all results.
func chat(m models.Message) (out []openai.ChatCompletionMessage) {
	if m.Assistant {
		a := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}
		for _, b := range m.Blocks {
			a.Content += b.Text
			if b.Use != nil {
				a.ToolCalls = append(a.ToolCalls, openai.ToolCall{ID: b.Use.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: b.Use.Name, Arguments: string(b.Use.Input)}})
			}
		}
		return append(out, a)
	}
	var parts []openai.ChatMessagePart
	add := func(b models.Block) {
		switch {
		case b.Image != nil:
			parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
				URL: "data:" + b.Image.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(b.Image.Data),
			}})
		case b.Text != "":
			parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: b.Text})
		}
	}
	for _, b := range m.Blocks {
		if b.Result == nil {
			add(b)
			continue
		}
		text := ""
		for _, inner := range b.Result.Blocks {
			if text += inner.Text; inner.Image != nil {
				add(inner)
			}
		}
		switch {
		case b.Result.Failed:
			text = "Error: " + text
		case text == "":
			text = "(no text)"
		}
		out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: b.Result.ID, Content: text})
	}
	user := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser}
	switch {
	case len(parts) == 0:
		return out
	case len(parts) == 1 && parts[0].ImageURL == nil: // some servers know only texts
		user.Content = parts[0].Text
	default:
		user.MultiContent = parts
	}
	return append(out, user)
}
