package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/session"
)

// TestChannel checks that an event reaches a client with a channel while no call runs, once,
// and that the answer of a call in progress has it otherwise.
func TestChannel(t *testing.T) {
	for name, capabilities := range map[string]string{"claude-code": `{}`, "other": `{"experimental":{"claude/channel":{}}}`, "none": `{}`} {
		gate := newGate()
		plain, _ := newServer(t, time.Second, gate.tool("Gate", true))
		config := plain.Config
		config.Channel = true
		config.Pipeline.Events = event.New()
		s, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		p := connect(t, t.Context(), s)
		p.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{%s}}`, modernMeta)
		if got := p.next(); !strings.Contains(got, "-32601") {
			t.Errorf("discovered %s", got)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"%s","version":"1"}}}`, capabilities, name)
		if got := p.next(); !strings.Contains(got, `"experimental":{"claude/channel":{}}`) {
			t.Errorf("initialized with %s", got)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		p.next()
		next := func() string {
			t.Helper()
			for {
				if got := p.next(); !isListChanged(got) {
					return got
				}
			}
		}
		owner := session.Owner{Principal: "stdio", Session: "1"}
		s.Pipeline.Events.Add(owner, event.Event{Source: "task a", Text: "ended"})
		if name != "none" {
			var m struct {
				Method string
				Params struct {
					Content string
					Meta    map[string]string
				}
			}
			if err := json.Unmarshal([]byte(next()), &m); err != nil {
				t.Fatal(err)
			}
			if m.Method != "notifications/claude/channel" || !strings.HasSuffix(m.Params.Content, " task a: ended") || m.Params.Meta["from"] != "task a" || m.Params.Meta["event"] != "1" {
				t.Errorf("%s: %+v", name, m)
			}
		}
		// While a call runs, its answer has the event.
		p.send("%s", callLine(3, "Gate", `{"name":"x"}`))
		await(t, gate.begun)
		s.Pipeline.Events.Add(owner, event.Event{Source: "task b", Text: "ended"})
		close(gate.open)
		if got := next(); !strings.Contains(got, "task b: ended") || strings.Contains(got, "task a: ended") != (name == "none") {
			t.Errorf("%s: the answer is %s", name, got)
		}
		rest, err := p.end()
		if rest = slices.DeleteFunc(rest, isListChanged); err != nil || len(rest) != 0 {
			t.Errorf("%s: %v, then %q", name, err, rest)
		}
	}
}
