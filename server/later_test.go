package server

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/tools"
)

// TestListedLater checks that a built-in tool that is offered later is
// announced to clients of old protocols, and listed from then on.
func TestListedLater(t *testing.T) {
	var ready atomic.Bool
	extra := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Extra", Prompt: "Extra.", Loading: tools.LoadAlways,
		IsEnabled: func() error {
			if ready.Load() {
				return nil
			}
			return tools.ErrLater
		},
		Call: func(context.Context, *tools.Env, gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{}, nil
		}})
	s, _ := newServerFor(t, time.Second, tools.DeferHints, extra)
	p := connect(t, t.Context(), s)
	p.send(initialize)
	if got := p.next(); !strings.Contains(got, `"tools":{"listChanged":true}`) {
		t.Errorf("initialized with %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := listed(t, p.next()); got != "Read" {
		t.Errorf("listed at first: %s", got)
	}
	ready.Store(true)
	s.Registry.Refresh()
	if got := p.next(); !strings.Contains(got, "notifications/tools/list_changed") {
		t.Errorf("told %s", got)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := listed(t, p.next()); got != "Extra Read" {
		t.Errorf("listed then: %s", got)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}
