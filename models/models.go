// Package models asks language models that the user has configured.
//
// A Model completes a conversation: texts, images, tool uses and their results, in the form of the
// Messages API. The engines that reach models are in models/engine; only that package knows the
// libraries of providers. This package has what all engines need: time limits, further attempts
// when the provider is busy, and budgets.
//
// The content of a request goes to the configured endpoint. Text that is not from the user, such as
// a web page, must be passed through Data.
package models

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"mcp-toolset/session"
)

// Model completes conversations. It is safe for concurrent use.
type Model interface {
	// Complete returns the next message of a conversation. Its error is an *Error, or the cause
	// of the end of ctx. With an error, the response is nil, or holds the text that had arrived
	// and what it cost, without tool uses.
	Complete(ctx context.Context, r Request) (*Response, error)
}

// Request is a conversation to complete.
type Request struct {
	Owner     session.Owner // whose budget pays
	System    string
	Messages  []Message // user and assistant take turns, the user first
	Tools     []Tool    // in the same order each time, for prompt caches
	MaxTokens int       // limit of the response; 0, or more than that of the settings: that of the settings
	// NoUse forbids the model to use the tools, which are there for the uses of earlier messages.
	NoUse bool
	// Cache marks the end of System and the last two messages of the user for prompt caching,
	// where the API has it: for a conversation that goes on.
	Cache bool
}

// Message is a message of a conversation. Uses are only in those of the assistant, and results
// only in those of the user, one for each use of the message before.
type Message struct {
	Assistant bool
	Blocks    []Block
}

// Block is a part of a message. One of its fields is set.
type Block struct {
	Text   string
	Image  *Image
	Use    *Use
	Result *Result
}

// Image is a picture.
type Image struct {
	MIMEType string // image/png, image/jpeg, image/gif or image/webp
	Data     []byte
}

// Use is a call that the model wants to make.
type Use struct {
	ID    string // not empty, and no two of a response have the same
	Name  string
	Input json.RawMessage // an object, {} if the model's is malformed
	// Malformed describes the error in the model's input; "" if it is an object. The call
	// must not run: it has a failed result with this text.
	Malformed string
}

// Result answers a use.
type Result struct {
	ID     string // of the use
	Blocks []Block
	Failed bool
}

// Tool describes a tool to the model.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage // JSON schema of the input, an object
}

// Stop is why a model ended its message.
type Stop string

// The reasons to stop.
const (
	StopEnd     Stop = "end"     // the message is complete
	StopTools   Stop = "tools"   // the model waits for the results of its uses
	StopLength  Stop = "length"  // a limit of tokens was reached
	StopRefusal Stop = "refusal" // the model or its provider refuses to answer
)

// Response is a message of the model.
type Response struct {
	Model  string  // name of the model, as the settings have it
	Blocks []Block // texts and, only with StopTools, uses
	Stop   Stop
	Usage  Usage
	Cost   float64 // in the currency of the price; 0 without one
}

// Text returns the texts of the response.
func (r *Response) Text() string {
	var b strings.Builder
	for _, block := range r.Blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}

// Usage is a number of tokens.
type Usage struct {
	Input, Output         int // Input is without those of the cache
	CacheRead, CacheWrite int
	Estimated             bool // the provider gave no numbers
}

// Total returns the number of all tokens.
func (u Usage) Total() int { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Engine makes one attempt of a completion.
type Engine interface {
	// Attempt returns the response, as Complete does, with Blocks, Stop and Usage. A Usage that
	// is zero is not known. Attempt applies no limit of time.
	Attempt(ctx context.Context, r Request) (*Response, error)
	Close() error
}

// Endpoint is where a model is, by the settings.
type Endpoint struct {
	Provider        string   // one of Providers
	URL             string   // base URL; "" for a command
	Command         []string // program with arguments; only for a command
	Dir             string   // working directory of the command
	Name            string   // of the model
	KeyEnv, KeyFile string   // at most one is set; without both no key is sent
	MaxTokens       int      // limit of a response
	Timeout         time.Duration
	Price           *Price // nil: not known
}

// Providers lists the providers of models.
var Providers = []string{"anthropic", "openai", "command"}

// DefaultURL returns the base URL of a provider, or "" if it has none.
func DefaultURL(provider string) string {
	return map[string]string{"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}[provider]
}

// Defaults and limits of an Endpoint.
const (
	DefaultMaxTokens = 8192
	MaxMaxTokens     = 200_000
	DefaultTimeout   = 2 * time.Minute
	MaxTimeout       = 30 * time.Minute
)

// Price is the price of a million tokens, in any currency.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite float64
}

// cost returns what tokens cost.
func (p *Price) cost(u Usage) float64 {
	if p == nil {
		return 0
	}
	return (p.Input*float64(u.Input) + p.Output*float64(u.Output) + p.CacheRead*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)) / 1e6
}

// Config is the setting models.
type Config struct {
	Default, Small *Endpoint // Small may be nil
	Budget         Budget
}
