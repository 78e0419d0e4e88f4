package server

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// TestSettles checks that a change right after a list is announced once, when the client has had time
// to take the list in.
func TestSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settling
		var sent []time.Duration
		begin := time.Now()
		notify := func() { sent = append(sent, time.Since(begin)) }
		s.later(notify)
		s.listed()
		s.later(notify)
		time.Sleep(settleTime / 2)
		s.later(notify)
		time.Sleep(settleTime)
		synctest.Wait()
		s.later(notify)
		if want := []time.Duration{0, settleTime, 3 * settleTime / 2}; !slices.Equal(sent, want) {
			t.Errorf("sent after %v, want %v", sent, want)
		}
	})
}
