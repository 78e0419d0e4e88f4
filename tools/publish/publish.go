// Package publish provides the tool PublishPort.
package publish

import (
	"context"
	_ "embed"
	"fmt"

	"mcp-toolset/internal/exec/publish"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Options holds the services of the tool. A call requires all.
type Options struct {
	Ports *publish.Publisher
	Tasks *task.Registry
}

// Input holds the arguments of PublishPort.
type Input struct {
	Port int `json:"port" minimum:"1" maximum:"65535" jsonschema:"Port on which a background task of this session listens"`
}

// Output holds the address of a published port.
type Output struct {
	Port     int    `json:"port" jsonschema:"The port of the session"`
	HostPort int    `json:"host_port,omitempty" jsonschema:"The port of 127.0.0.1 on the machine of the server; missing until a task listens on port"`
	URL      string `json:"url,omitempty" jsonschema:"What the user opens, if the port serves HTTP"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool PublishPort.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:       "PublishPort",
		Title:      "Publish a port",
		Prompt:     prompt,
		SearchHint: "publish port dev server localhost open in browser",
		Description: func(in Input) string {
			return fmt.Sprintf("Let programs of this machine connect to port %d of the session", in.Port)
		},
		Summary:           func(_ Input, r tools.Result[Output]) string { return r.Data.text },
		Loading:           tools.LoadDeferred,
		IsIdempotent:      tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		Matcher: func(in Input) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, port string) bool { return port == fmt.Sprint(in.Port) }
		},
		Prepare: func(env *tools.Env, in Input) (Input, error) { return in, o.served(env) },
		Check:   func(env *tools.Env, in Input) *policy.Decision { return o.check(env, in) },
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			host, err := o.Ports.Agree(ctx, env.Session.Owner(), uint16(in.Port), o.Tasks.List(env.Session.Owner()))
			if err != nil {
				return tools.Result[Output]{}, fault.New("the ports of the background tasks cannot be listed: "+plain.Line(err.Error()), "Try again.")
			}
			out := Output{Port: in.Port, HostPort: int(host)}
			if host == 0 {
				out.text = fmt.Sprintf("No background task listens on port %d yet. It is published when one does, and an event names the address.", in.Port)
			} else {
				out.URL = fmt.Sprintf("http://localhost:%d/", host)
				out.text = "P" + publish.Address(uint16(in.Port), host)[1:] + "."
			}
			return tools.Result[Output]{Data: out}, nil
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// served returns an error if no background task of the session has a network of its own.
func (o Options) served(env *tools.Env) error {
	if o.Tasks == nil {
		return nil // the call is only decided
	}
	open := false
	for _, t := range o.Tasks.List(env.Session.Owner()) {
		server, ok := t.Job.(task.Server)
		switch {
		case !ok || t.Status().State != task.Running:
		case server.Network() != nil:
			return nil
		default:
			open = true
		}
	}
	if open {
		return fault.New("the background tasks have the network of this machine", "Tell the user to open the address that the server prints.")
	}
	return fault.New("no background task of this session runs", "Start the server with Bash and run_in_background first.")
}

// check returns the decision to ask, or to deny, unless the settings or the user publish the port.
func (o Options) check(env *tools.Env, in Input) *policy.Decision {
	if o.Ports == nil {
		return nil
	}
	ask, refused := o.Ports.Question(env.Session.Owner(), uint16(in.Port))
	switch {
	case refused:
		return &policy.Decision{
			Behavior: policy.Deny, Layer: policy.LayerTool, Reason: fmt.Sprintf("the settings do not publish port %d", in.Port),
			Next: "continue without it, or ask the user to add the port to sandbox.publish in the settings",
		}
	case ask:
		return &policy.Decision{
			Behavior: policy.Ask, Layer: policy.LayerTool, Reason: "every program of this machine reaches a published port; agreeing holds for this session",
			Next: "continue without it, or ask the user to add the port to sandbox.publish in the settings",
		}
	}
	return nil
}
