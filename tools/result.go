package tools

import (
	"encoding/json"
	"maps"
	"slices"

	"mcp-toolset/internal/fault"
	"mcp-toolset/session"
)

// Result is what a tool's Call returns.
type Result[Out any] struct {
	Data   Out            // the output, shown by Def.Render
	Effect session.Effect // what changes in the session; applied in arrival order
	Blocks []Content      // further content, delivered after the rendered output
	Meta   map[string]any // facts for programs, never needed by the model
	// HookFields are what hooks get beside the output; only where Env.Hooked. nil: nothing.
	HookFields HookFields
	Failed     bool // the call did what was asked and the answer is a failure (a command's exit code)
}

// Response is a finished call's answer, whatever the tool.
type Response struct {
	Content    []Content
	Structured func() (json.RawMessage, error) // the output as JSON; nil for errors
	Meta       map[string]any
	HookFields HookFields // as in Result
	Failed     bool
	Effect     session.Effect
}

// Clone is a response that can be changed apart from r; blocks are never
// changed.
func (r *Response) Clone() *Response {
	c := *r
	c.Content, c.Meta = slices.Clone(r.Content), maps.Clone(r.Meta)
	return &c
}

// Content is one block of a response: Text, Image, Audio, ResourceLink or Resource.
type Content interface{ content() }

// Text is text for the model.
type Text struct{ Text string }

// Image is a picture for the model.
type Image struct {
	Data     []byte
	MIMEType string
}

// Audio is sound for the model.
type Audio struct {
	Data     []byte
	MIMEType string
}

// ResourceLink points at something the client can fetch.
type ResourceLink struct {
	URI, Name, Description, MIMEType string
}

// Resource is an embedded resource: Text, or Blob when Text is "".
type Resource struct {
	URI, MIMEType string
	Text          string
	Blob          []byte
}

func (Text) content()         {}
func (Image) content()        {}
func (Audio) content()        {}
func (ResourceLink) content() {}
func (Resource) content()     {}

// Recorded is an error that the session remembers: its effect is applied though
// the call failed.
type Recorded struct {
	Err    error
	Effect session.Effect
}

func (r *Recorded) Error() string { return r.Err.Error() }

// Unwrap returns the error.
func (r *Recorded) Unwrap() error { return r.Err }

// Fault is an error that is the caller's to fix: one fact and one next step.
type Fault = fault.Fault
