// Package sleep provides the tool Sleep.
package sleep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/tools"
)

// reportEvery is the interval of progress reports.
const reportEvery = 5 * time.Second

// Options holds the settings of the tool.
type Options struct {
	Events *event.Registry // a call requires it
}

// Input holds the arguments of Sleep.
type Input struct {
	// DurationMS is at most 110 s, because clients give up after 120 s.
	DurationMS int `json:"duration_ms" minimum:"1" maximum:"110000" jsonschema:"How long to wait, in milliseconds"`
}

// Output holds the result of Sleep.
type Output struct {
	SleptMS int64 `json:"slept_ms" jsonschema:"How long the call waited, in milliseconds"`
	Event   bool  `json:"event" jsonschema:"Whether an event ended the wait; it follows this result or another one"`
}

//go:embed prompt.md
var prompt string

// New returns the tool Sleep.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:       "Sleep",
		Title:      "Wait for events",
		Prompt:     prompt,
		SearchHint: "wait sleep pause until event notification timer",
		Loading:    tools.LoadAlways,
		Collects:   true,
		Description: func(in Input) string {
			return fmt.Sprintf("Wait up to %v", time.Duration(in.DurationMS)*time.Millisecond)
		},
		Summary: func(_ Input, r tools.Result[Output]) string {
			text := "Waited " + tools.Took(time.Duration(r.Data.SleptMS)*time.Millisecond)
			if r.Data.Event {
				text += ": an event"
			}
			return text
		},
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return wait(ctx, env, in, o.Events)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text()}} },
	})
}

func (o Output) text() string {
	slept := fmt.Sprintf("%.1f s", float64(o.SleptMS)/1000)
	if o.Event {
		return "An event arrived after " + slept + ". It is below, or in the answer to a call that ended at the same time."
	}
	return "No event in " + slept + "."
}

// errOver is the cause of the end of a wait whose time is over.
var errOver = errors.New("the time is over")

// wait waits for an event, without a slot and a place in the order of calls.
func wait(ctx context.Context, env *tools.Env, in Input, events *event.Registry) (tools.Result[Output], error) {
	env.Depart()
	begin := time.Now()
	total := env.Foreground(time.Duration(in.DurationMS) * time.Millisecond)
	inner, cancel := context.WithTimeoutCause(ctx, total, errOver)
	defer cancel()
	stop := report(env, total)
	var err error
	if !events.Shown(env.Session.Owner()) {
		err = events.Wait(inner, env.Session.Owner())
	}
	stop()
	if err != nil && !errors.Is(err, errOver) {
		return tools.Result[Output]{}, err
	}
	out := Output{SleptMS: time.Since(begin).Milliseconds(), Event: err == nil}
	return tools.Result[Output]{Data: out}, nil
}

// report reports progress until stop is called.
func report(env *tools.Env, total time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	begin, tick := time.Now(), time.NewTicker(reportEvery)
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				env.Progress(tools.Progress{Done: time.Since(begin).Seconds(), Total: total.Seconds(), Message: "waiting for an event"})
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
