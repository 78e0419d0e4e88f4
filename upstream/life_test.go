package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// TestBegin checks that no server starts before it is needed, that a cached
// listing is offered at once and not requested again, and that eager servers
// are connected.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tools: []string{plainTool("a")}}
		pins := &fakePins{lists: map[string][]json.RawMessage{"cached": {json.RawMessage(plainTool("old"))}}}
		m, b := beginFake(t, f, Config{Pins: pins, Servers: []Server{
			{Name: "cached", Prefix: "cached", Command: "c"}, {Name: "lazy", Prefix: "lazy", Command: "c"},
			{Name: "refused", Prefix: "refused", Command: "c", Refused: "denied by deniedMcpServers in f:1"},
			{Name: "broken", Prefix: "broken", Command: "c", Broken: "the variable A is not set"},
		}})
		want := []string{"cached idle [mcp__cached__old] ", "lazy idle [] ", "refused refused [] denied by deniedMcpServers in f:1", "broken failed [] the variable A is not set"}
		if d := cmp.Diff(want, b.show()); d != "" {
			t.Error(d)
		}
		synctest.Wait()
		if f.tries != 0 {
			t.Error("something was started")
		}
		m.WakeListed(t.Context(), false, 0)
		synctest.Wait()
		if f.tries != 0 {
			t.Error("a list started a server whose tools it does not show")
		}
		old := b.tool("mcp__cached__old")
		m.Wake(t.Context(), time.Second)
		if f.tries != 1 {
			t.Errorf("%d were started", f.tries)
		}
		pins.lists["cached"] = nil
		m.WakeAll(t.Context(), time.Second)
		want = []string{"cached ready [mcp__cached__a] ", "lazy ready [mcp__lazy__a] ", want[2], want[3]}
		if d := cmp.Diff(want, b.show()); d != "" {
			t.Error(d)
		}
		if err := old.Connect(t.Context()); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"refused", "broken"} {
			if err := m.find(name).prepare(t.Context()); err == nil {
				t.Errorf("%s is used", name)
			}
		}
		if f.tries != 2 {
			t.Errorf("%d were started", f.tries)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tools: []string{plainTool("a")}}
		_, b := beginFake(t, f, Config{Servers: []Server{{Name: "x", Prefix: "x", Command: "c", Eager: true}}})
		synctest.Wait()
		if got := b.show(); got[0] != "x ready [mcp__x__a] " {
			t.Error(got)
		}
	})
}

// show returns the state as text.
func (b *board) show() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, s := range b.last {
		var names []string
		for _, tool := range s.Tools {
			names = append(names, tool.Name)
		}
		out = append(out, fmt.Sprintf("%s %s %v %s", s.Name, s.State, names, s.Note))
	}
	return out
}

// fakePins implements Pins in memory.
type fakePins struct {
	mu      sync.Mutex
	lists   map[string][]json.RawMessage
	changed map[string]string
	updates int
	err     error
}

func (p *fakePins) Cached(server, _ string) ([]json.RawMessage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.lists[server]
	return l, ok
}

func (p *fakePins) Update(_, _ string, _ []json.RawMessage) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updates++
	return p.changed, p.err
}

func (p *fakePins) Changed(_, _ string) map[string]string { return p.changed }

func (p *fakePins) Seen(_, _ string, tool json.RawMessage) bool {
	return p.changed[nameOf(tool)] == ""
}

// TestBackoff checks that the first failure can be retried at once, and further
// ones after growing delays. Until then, calls fail at once and name the time.
// A success resets the delay.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := false
		f := &fake{tools: []string{plainTool("a")}, calls: map[string]func(*fakeConn, fakeRequest){"a": says("ok")}}
		f.refuse = func(int) error {
			if works {
				return nil
			}
			return &failure{reason: "it cannot be started: no"}
		}
		m, b := beginFake(t, f, Config{})
		call := func() string { return text2(m.find("x").call(t.Context(), testEnv(), "a", nil)) }
		const begin = "error: the server x cannot be reached: it cannot be started: no. Do it another way; it is tried again "
		var got []string
		for _, wait := range []time.Duration{0, 0, 0, time.Second, 0, 1900 * time.Millisecond, 100 * time.Millisecond, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
			time.Sleep(wait)
			before := f.tries
			text := call()
			rest, ok := strings.CutPrefix(text, begin)
			if !ok {
				t.Fatal(text)
			}
			got = append(got, fmt.Sprintf("%d %s", f.tries-before, rest))
		}
		want := []string{
			"1 with the next call.", "1 in 1 s.", "0 in 1 s.", "1 in 2 s.", "0 in 2 s.", "0 in 1 s.", "1 in 4 s.",
			"1 in 8 s.", "1 in 16 s.", "1 in 32 s.", "1 in 60 s.", "1 in 60 s.", "1 in 60 s.",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if got := b.server("x"); got.State != tools.Failed || got.Note != "it cannot be started: no; it is tried again in 60 s" {
			t.Errorf("%+v", got)
		}
		works = true
		time.Sleep(time.Minute)
		if got := call(); got != "ok" {
			t.Error(got)
		}
		f.last().exit("with exit code 1")
		synctest.Wait()
		if got := b.server("x"); got.State != tools.Failed || got.Note != "it ended with exit code 1; it is tried again with the next call" || len(got.Tools) != 1 {
			t.Errorf("%+v", got)
		}
		if got := call(); got != "ok" {
			t.Error(got)
		}
	})
}

// TestOneConnection checks that concurrent calls make one connection, and that
// a cancelled call does not delay the others.
func TestOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tools: []string{plainTool("a")}, calls: map[string]func(*fakeConn, fakeRequest){"a": says("ok")}}
		f.other = map[string]func(*fakeConn, fakeRequest){"initialize": func(c *fakeConn, r fakeRequest) {
			time.Sleep(5 * time.Second)
			c.answer(r, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"fake","version":"1"},"capabilities":{"tools":{}}}`)
		}}
		m, _ := beginFake(t, f, Config{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got := text2(m.find("x").call(t.Context(), testEnv(), "a", nil)); got != "ok" {
					t.Error(got)
				}
			})
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			if err := m.find("x").prepare(ctx); err == nil || time.Since(begun) != time.Second {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
		})
		wg.Wait()
		if f.tries != 1 {
			t.Errorf("%d were started", f.tries)
		}
	})
}

// TestCrash checks that a crash ends the calls of that server with an
// explanation, and no other calls.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{caps: `{"tools":{}}`, calls: map[string]func(*fakeConn, fakeRequest){
			"hang": func(*fakeConn, fakeRequest) {}, "a": says("ok"),
			"crash": func(c *fakeConn, _ fakeRequest) {
				_, _ = fmt.Fprintf(c.errW, "TypeError: \x1b[31mboom\n    at x.js:1\n\nNode.js v22\n")
				c.exit("by signal 11 (segmentation fault)")
			},
		}}
		m, _ := beginFake(t, f, Config{Servers: []Server{{Name: "x", Prefix: "x", Command: "c"}, {Name: "y", Prefix: "y", Command: "c"}}})
		const want = `error: the server x ended while the call ran: it ended by signal 11 (segmentation fault): TypeError: \x1b[31mboom; whether it took effect is not known. Look before you repeat it.`
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := m.find("y").call(ctx, testEnv(), "hang", nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		for _, tool := range []string{"hang", "hang"} {
			wg.Go(func() {
				if got := text2(m.find("x").call(t.Context(), testEnv(), tool, nil)); got != want {
					t.Error(got)
				}
			})
		}
		synctest.Wait()
		if got := text2(m.find("x").call(t.Context(), testEnv(), "crash", nil)); got != want {
			t.Error(got)
		}
		if got := text2(m.find("x").call(t.Context(), testEnv(), "a", nil)); got != "ok" {
			t.Error(got)
		}
		wg.Wait()
	})
}

// TestListChanged checks that a server that reports changes repeatedly is
// listed once a second, and that unchanged tools retain their objects.
func TestListChanged(t *testing.T) {
	for _, modern := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{modern: modern, tools: []string{plainTool("a")}}
			f.other = map[string]func(*fakeConn, fakeRequest){"subscriptions/listen": func(*fakeConn, fakeRequest) {}}
			pins := &fakePins{}
			m, b := beginFake(t, f, Config{Pins: pins})
			m.Wake(t.Context(), time.Second)
			synctest.Wait()
			if got := f.count("subscriptions/listen"); got != map[bool]int{true: 1}[modern] {
				t.Errorf("modern=%v: %d subscriptions", modern, got)
			}
			before, told := b.tool("mcp__x__a"), f.count("tools/list")
			pins.mu.Lock()
			pins.changed = map[string]string{"b": "it is new since the user last looked"}
			pins.mu.Unlock()
			f.mu.Lock()
			f.tools = append(f.tools, plainTool("b"))
			f.mu.Unlock()
			c := f.last()
			for range 50 {
				c.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
			if got := f.count("tools/list") - told; got != 4 { // at 0, 1 and 2 s, and one for the changes since then
				t.Errorf("it was listed %d times", got)
			}
			if b.tool("mcp__x__a") != before {
				t.Error("a tool that stayed the same is another")
			}
			added := b.tool("mcp__x__b")
			if added == nil || added.Notice != "It is new since the user last looked." || pins.updates != 5 {
				t.Errorf("the new tool is %+v after %d updates", added, pins.updates)
			}
		})
	}
}

// TestSubscription checks that an ended subscription is renewed, unless the
// server does not support it.
func TestSubscription(t *testing.T) {
	for _, has := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{modern: true, tools: []string{plainTool("a")}}
			f.other = map[string]func(*fakeConn, fakeRequest){"subscriptions/listen": func(c *fakeConn, r fakeRequest) {
				if has {
					c.answer(r, `{}`)
				} else {
					c.fail(r, -32601, "Method not found")
				}
			}}
			m, _ := beginFake(t, f, Config{})
			m.Wake(t.Context(), time.Second)
			time.Sleep(8 * time.Second) // attempts at 0, 1, 3 and 7 s
			if got, want := f.count("subscriptions/listen"), map[bool]int{true: 4, false: 1}[has]; got != want {
				t.Errorf("%v: %d subscriptions", has, got)
			}
		})
	}
}

// TestAwait checks that Await connects only the server that may have the name.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tools: []string{plainTool("a")}}
		m, b := beginFake(t, f, Config{Servers: []Server{{Name: "x y", Prefix: "x_y", Command: "c"}, {Name: "z", Prefix: "z", Command: "c"}}})
		for _, name := range []string{"Read", "mcp__z", "mcp__q__a", "x_y__a"} {
			m.Await(t.Context(), name)
		}
		if f.tries != 0 {
			t.Errorf("%d were started", f.tries)
		}
		m.Await(t.Context(), "mcp__x_y__a")
		if f.tries != 1 || b.tool("mcp__x_y__a") == nil {
			t.Errorf("%d were started: %v", f.tries, b.show())
		}
	})
}

// TestNoAnswer checks that a silent server delays a call no longer than the
// connect timeout.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{other: map[string]func(*fakeConn, fakeRequest){"initialize": func(*fakeConn, fakeRequest) {}, "server/discover": func(*fakeConn, fakeRequest) {}}}
		m, b := beginFake(t, f, Config{ConnectTimeout: 10 * time.Second})
		begun := time.Now()
		m.Wake(t.Context(), 3*time.Second)
		if time.Since(begun) != 3*time.Second || b.server("x").State != tools.Pending {
			t.Errorf("after %s: %v", time.Since(begun), b.show())
		}
		err := m.find("x").prepare(t.Context())
		const want = "the server x cannot be reached: it does not answer within 10 s. Do it another way; it is tried again with the next call."
		if err == nil || err.Error() != want || time.Since(begun) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// TestLegacyRemembered checks that a server is asked only once whether it is a
// legacy server.
func TestLegacyRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{tools: []string{plainTool("a")}, calls: map[string]func(*fakeConn, fakeRequest){"a": says("ok")},
			other: map[string]func(*fakeConn, fakeRequest){"server/discover": func(*fakeConn, fakeRequest) {}}}
		m, _ := beginFake(t, f, Config{})
		for i, most := range []time.Duration{discoverTimeout, 0} {
			begun := time.Now()
			if got := text2(m.find("x").call(t.Context(), testEnv(), "a", nil)); got != "ok" || time.Since(begun) != most {
				t.Errorf("%d: %s after %s", i, got, time.Since(begun))
			}
			f.last().exit("with exit code 0")
			synctest.Wait()
		}
	})
}

// TestCheck checks which calls the user must approve.
func TestCheck(t *testing.T) {
	list := []json.RawMessage{}
	for _, said := range []string{`{}`, `{"readOnlyHint":true}`, `{"destructiveHint":true}`, `{"destructiveHint":false}`} {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"name":"t%d","annotations":%s}`, len(list), said)))
	}
	var out []string
	for _, c := range []Config{{}, {AskAlways: true}, {PinRefuses: true}} {
		m := New(c)
		s := newServer(m, Server{Name: "x\x1b", Prefix: "x"})
		s.apply(list, map[string]string{"t1": "its description changed since the user last looked"})
		for i, tool := range s.tools {
			f := s.foreign(definition{Name: tool.name, called: tool.Name, Input: json.RawMessage(`{"type":"object"}`)}, "")
			f.Declared = *tool.Declared
			change := ""
			if i == 1 {
				change = "its description changed since the user last looked"
			}
			d := s.check(&f, tool.raw, change)
			if d == nil {
				d = &policy.Decision{Behavior: policy.Allow}
			}
			out = append(out, fmt.Sprintf("always=%v pin=%v %s: %s: %s. Next: %s. Notice: %s", c.AskAlways, c.PinRefuses, tool.Name, d.Behavior, d.Reason, d.Next, tool.Notice))
		}
	}
	golden(t, "check", out)
}

// TestClose checks that Close ends attempts to connect, running calls and
// servers that do not react.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{caps: `{"tools":{}}`, calls: map[string]func(*fakeConn, fakeRequest){"hang": func(*fakeConn, fakeRequest) {}}}
		m, _ := beginFake(t, f, Config{Servers: []Server{{Name: "x", Prefix: "x", Command: "c"}, {Name: "y", Prefix: "y", Command: "c"}}})
		done := make(chan error)
		go func() {
			_, err := m.find("x").call(context.Background(), testEnv(), "hang", nil)
			done <- err
		}()
		synctest.Wait()
		f.other = map[string]func(*fakeConn, fakeRequest){"initialize": func(*fakeConn, fakeRequest) {}}
		m.find("y").wake()
		synctest.Wait()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("the call has a result")
		}
		if _, err := m.find("x").call(t.Context(), testEnv(), "hang", nil); err == nil || err.Error() != "this server is ending. Nothing more can be called." {
			t.Error(err)
		}
		if slices.ContainsFunc(f.conns, func(c *fakeConn) bool {
			select {
			case <-c.done:
				return false
			default:
				return true
			}
		}) {
			t.Error("a server was left")
		}
	})
}

// TestPinAccepted checks that a tool that the user has accepted is allowed
// without a new listing.
func TestPinAccepted(t *testing.T) {
	pins := &fakePins{changed: map[string]string{"a": "it is new since the user last looked"}}
	m := New(Config{PinRefuses: true, Pins: pins})
	s := newServer(m, Server{Name: "x", Prefix: "x"})
	f := s.foreign(definition{Name: "a", called: "mcp__x__a", Input: json.RawMessage(`{"type":"object"}`)}, pins.changed["a"])
	no := false
	f.Declared.Destructive = &no
	if d := s.check(&f, json.RawMessage(`{"name":"a"}`), pins.changed["a"]); d == nil || d.Behavior != policy.Deny {
		t.Errorf("before: %+v", d)
	}
	pins.changed = nil
	if d := s.check(&f, json.RawMessage(`{"name":"a"}`), "it is new since the user last looked"); d != nil {
		t.Errorf("after: %+v", d)
	}
}

// TestWakeListed checks that a list of tools connects the servers without a
// known listing: all, or only those whose tools are always loaded.
func TestWakeListed(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{tools: []string{plainTool("a")}}
			pins := &fakePins{lists: map[string][]json.RawMessage{"cached": {json.RawMessage(plainTool("old"))}}}
			m, b := beginFake(t, f, Config{Pins: pins, Servers: []Server{
				{Name: "cached", Prefix: "cached", Command: "c", Always: true}, {Name: "lazy", Prefix: "lazy", Command: "c"},
				{Name: "always", Prefix: "always", Command: "c", Always: true},
			}})
			m.WakeListed(t.Context(), all, time.Minute) // waits
			want := []string{"cached idle [mcp__cached__old] ", "lazy idle [] ", "always ready [mcp__always__a] "}
			if all {
				want[1] = "lazy ready [mcp__lazy__a] "
			}
			if d := cmp.Diff(want, b.show()); d != "" {
				t.Errorf("all %t: %s", all, d)
			}
		})
	}
}
