package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/endpoint"
)

const (
	// attempts is how often a request is made if the provider is busy.
	attempts = 5
	// backoff is the wait before the second attempt. It doubles with each attempt.
	backoff = time.Second
	// maxAtOnce is the limit of the requests to a model at the same time.
	maxAtOnce = 16
)

// model is a Model with limits.
type model struct {
	Endpoint
	engine Engine
	meter  *Meter
	slots  chan struct{} // limits the requests at once
	log    *slog.Logger
}

// New returns the model of an endpoint, which an engine reaches.
func New(e Endpoint, engine Engine, meter *Meter, log *slog.Logger) Model {
	return &model{e, engine, meter, make(chan struct{}, maxAtOnce), log}
}

// Complete implements Model.
func (m *model) Complete(ctx context.Context, r Request) (*Response, error) {
	if r.MaxTokens <= 0 || r.MaxTokens > m.MaxTokens {
		r.MaxTokens = m.MaxTokens
	}
	slow := NewError(Slow, fmt.Sprintf("the model %s did not answer within %v", plain.Line(m.Name), m.Timeout), "Ask for less at once, or go on without the model.")
	ctx, cancel := context.WithTimeoutCause(ctx, m.Timeout, slow)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	input := estimate(r)
	settle, err := m.meter.reserve(ctx, r.Owner, input, &r.MaxTokens, m.Price)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	resp, tried, err := m.tryAgain(ctx, r)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	var used Usage
	if resp != nil {
		if resp.Usage.Total() == 0 {
			resp.Usage = Usage{Input: input, Output: Size(resp.Blocks) / BytesPerToken, Estimated: true}
		}
		if out := Size(resp.Blocks) / BytesPerToken; err != nil && out > resp.Usage.Output {
			resp.Usage.Output, resp.Usage.Estimated = out, true // its number comes at the end
		}
		used = resp.Usage
		resp.Model, resp.Cost = m.Name, m.Price.cost(used)
	}
	settle(used)
	m.log.Debug("a model was asked", "model", m.Name, "attempts", tried, "ms", time.Since(began).Milliseconds(), "input", used.Input+used.CacheRead+used.CacheWrite, "output", used.Output, "failed", err != nil)
	return resp, err
}

// tryAgain makes attempts until one succeeds, or the provider is not busy, or no time is left.
func (m *model) tryAgain(ctx context.Context, r Request) (resp *Response, attempt int, err error) {
	for attempt = 1; ; attempt++ {
		resp, err = m.engine.Attempt(ctx, r)
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Kind != Busy || attempt == attempts || resp != nil {
			return resp, attempt, err
		}
		if !endpoint.Sleep(ctx, max(e.Wait, backoff<<(attempt-1))) {
			return nil, attempt, err
		}
	}
}

// BytesPerToken is an estimate: about 4 bytes of English are a token.
const BytesPerToken = 4

const (
	// tokensPerImage is the number of tokens of a picture of the largest size that models take
	// (documentation of Anthropic).
	tokensPerImage = 1600
	// bytesPerImageToken makes a picture that is larger than models take count for more, so that
	// 150,000 tokens hold at most 24 MB of pictures. They are 32 MB in base64, the limit of a
	// request (documentation of Anthropic).
	bytesPerImageToken = 160
)

// estimate returns about how many tokens a request has.
func estimate(r Request) int {
	n := len(r.System)
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, message := range r.Messages {
		n += Size(message.Blocks)
	}
	return n/BytesPerToken + 1
}

// Size returns the size of blocks in bytes of text. A picture counts as a text of as many tokens.
func Size(blocks []Block) (n int) {
	for _, b := range blocks {
		n += len(b.Text)
		if b.Image != nil {
			n += max(tokensPerImage, len(b.Image.Data)/bytesPerImageToken) * BytesPerToken
		}
		if b.Use != nil {
			n += len(b.Use.Name) + len(b.Use.Input)
		}
		if b.Result != nil {
			n += Size(b.Result.Blocks)
		}
	}
	return n
}
