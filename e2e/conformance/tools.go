// The tools that the suites call, with the names and contents that they expect.

package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"time"

	"mcp-toolset/tools"
)

// pace is the interval between the messages of a call. It is short, but long enough that
// a client receives them one by one.
const pace = 50 * time.Millisecond

type (
	nothing struct{}
	output  struct {
		Text string `json:"text,omitempty" jsonschema:"what the tool says"`
	}
	result = tools.Result[output]
)

// define returns a tool without arguments that may run concurrently with any other.
func define(name, prompt string, call func(context.Context, *tools.Env) (result, error)) *tools.Tool {
	return tools.MustBuild(tools.Def[nothing, nothing, output]{
		Name: name, Prompt: prompt,
		IsReadOnly:        tools.Always[nothing](),
		IsIdempotent:      tools.Always[nothing](),
		IsConcurrencySafe: tools.Always[nothing](),
		Call: func(ctx context.Context, env *tools.Env, _ nothing) (result, error) {
			return call(ctx, env)
		},
		Render: func(o output) []tools.Content {
			if o.Text == "" {
				return nil
			}
			return []tools.Content{tools.Text{Text: o.Text}}
		},
	})
}

// answer returns a call that always gives this answer.
func answer(text string, failed bool, blocks ...tools.Content) func(context.Context, *tools.Env) (result, error) {
	return func(context.Context, *tools.Env) (result, error) {
		return result{Data: output{Text: text}, Blocks: blocks, Failed: failed}, nil
	}
}

func fixtureTools() []*tools.Tool {
	picture := tools.Image{Data: pixel(), MIMEType: "image/png"}
	return []*tools.Tool{
		define("test_simple_text", "Answers with one text.",
			answer("This is a simple text response for testing.", false)),
		define("test_image_content", "Answers with one picture.",
			answer("", false, picture)),
		define("test_embedded_resource", "Answers with one embedded resource.",
			answer("", false, tools.Resource{
				URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
			})),
		define("test_multiple_content_types", "Answers with a text, a picture and an embedded resource.",
			answer("Multiple content types test:", false, picture, tools.Resource{
				URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
			})),
		define("test_error_handling", "Does its work, the answer being a failure.",
			answer("This tool intentionally returns an error for testing", true)),
		define("test_tool_with_logging", "Logs at the start, in the middle and at the end.",
			logging("Tool execution started", "Tool processing data", "Tool execution completed")),
		define("test_tool_with_progress", "Reports its progress at the start, in the middle and at the end.",
			progress(0, 50, 100)),
		define("test_reconnection", "Takes a moment, in which a client may lose its connection.", waiting),
		define("test_logging_tool", "Logs, which only a client that asked for it may notice.",
			logging("a message for whoever listens")),
	}
}

func logging(messages ...string) func(context.Context, *tools.Env) (result, error) {
	return func(ctx context.Context, env *tools.Env) (result, error) {
		for i, m := range messages {
			if i > 0 {
				if err := wait(ctx); err != nil {
					return result{}, err
				}
			}
			env.Log.InfoContext(ctx, m)
		}
		return result{Data: output{Text: "The log is written."}}, nil
	}
}

// progress returns a call that reports each step as progress, out of 100.
func progress(steps ...float64) func(context.Context, *tools.Env) (result, error) {
	return func(ctx context.Context, env *tools.Env) (result, error) {
		for i, done := range steps {
			if i > 0 {
				if err := wait(ctx); err != nil {
					return result{}, err
				}
			}
			env.Progress(tools.Progress{Done: done, Total: 100})
		}
		return result{Data: output{Text: "The work is done."}}, nil
	}
}

func waiting(ctx context.Context, _ *tools.Env) (result, error) {
	if err := wait(ctx); err != nil {
		return result{}, err
	}
	return result{Data: output{Text: "The wait is over."}}, nil
}

func wait(ctx context.Context) error {
	select {
	case <-time.After(pace):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pixel returns the smallest possible picture, as PNG.
func pixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}
