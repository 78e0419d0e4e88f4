package pipeline

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/tools"
	"mcp-toolset/web/site"
)

// connect runs a call that connects to hosts, for a client whose user can answer meanwhile.
func (b *bench) connect(t *testing.T, hosts string, asker Asker) string {
	t.Helper()
	r := b.request("Do", `{"do":"connect","arg":"`+hosts+`"}`)
	r.Ask, r.AskWaits = asker, asker != nil
	resp, err := b.Run(t.Context(), r)
	if err != nil {
		return "error: " + err.Error()
	}
	return joinText(resp.Content)
}

// TestConnections checks the decisions on connections of commands with their texts and the
// audit log. A question is put once for each host in a session.
func TestConnections(t *testing.T) {
	b := newBench(t, `{"permissions":{"allow":["WebFetch(domain:ok.example)","WebFetch(domain:accounts.google.com)"],"deny":["WebFetch(domain:no.example)"]}}`)
	var mu sync.Mutex
	var logged []string
	b.Audit = func(_ context.Context, e audit.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		if e.Tool == approval.Network {
			logged = append(logged, string(e.Input)+" "+e.Decision.Behavior+" "+e.Outcome)
			if e.Parent == "" || e.Parent == e.Call {
				t.Errorf("the entry belongs to no call: %+v", e)
			}
		}
		return nil
	}
	folder := b.approvals(t)
	const unknown = "no rule names the host %; approval # is pending. Ask the user to run `mcp-toolset approve #` (or `mcp-toolset deny #`) or to answer in `mcp-toolset console`, on the machine of the server, then run the command again."
	pending := func(host, number string) string {
		return strings.NewReplacer("%", host, "#", number).Replace(unknown)
	}
	for i, step := range []struct {
		hosts, reply string // reply "": no client that can ask
		asked        int32
		want         string
	}{
		{"ok.example", Declined, 0, "connected"},
		{"no.example", Accepted, 0, "the deny rule WebFetch(domain:no.example) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		{"a.example a.example a.example", Accepted, 1, "connected\nconnected\nconnected"},
		{"a.example", Declined, 0, "connected"},
		{"b.example", Declined, 1, "the user declined reaching b.example. Do not try to reach it another way; continue without it or ask the user what to do."},
		{"b.example", Accepted, 0, "the user declined reaching b.example. Do not try to reach it another way; continue without it or ask the user what to do."},
		{"c.example", Cancelled, 1, pending("c.example", "3")},
		{"c.example", Accepted, 0, pending("c.example", "3")},
		{"d.example", "", 0, pending("d.example", "4")},
		{"d.example", Accepted, 1, "connected"},
		{"update.googleapis.com", Accepted, 0, tools.ErrBackground.Error()},
		{"redirector.gvt1.com", "", 0, tools.ErrBackground.Error()},
		{"accounts.google.com", Accepted, 0, "connected"}, // a rule allows it
	} {
		var asker Asker
		var asked atomic.Int32
		if step.reply != "" {
			asker = func(_ context.Context, q Question) (Reply, error) {
				asked.Add(1)
				if q.Further != "further connections of commands to "+strings.TrimPrefix(q.Title, "Let commands connect to ") {
					t.Errorf("step %d: accepting allows %q", i, q.Further)
				}
				return Reply{Allow: step.reply == Accepted, How: step.reply}, nil
			}
		}
		if got := b.connect(t, step.hosts, asker); got != step.want || asked.Load() != step.asked {
			t.Errorf("step %d: asked %d times, %s\nnot %s", i, asked.Load(), got, step.want)
		}
	}
	if _, err := approval.Approve(t.Context(), folder, 3, false); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the approval holds for the session
		if got := b.connect(t, "c.example", nil); got != "connected" {
			t.Errorf("after the approval: %s", got)
		}
	}
	for i, want := range []string{
		`{"host":"ok.example","port":443} allow ok`, `{"host":"no.example","port":443} deny refused`,
		`{"host":"a.example","port":443} allow ok`,
	} {
		if i >= len(logged) || logged[i] != want {
			t.Errorf("entry %d of the audit log is not %s: %v", i, want, logged)
		}
	}
	// An answer about a command holds for WebFetch too if it is a refusal.
	if got := b.ask(t, "WebFetch", `{"do":"x","arg":"1","path":"b.example"}`, nil); !strings.Contains(got, "the user declined reaching b.example") {
		t.Errorf("WebFetch after a decline: %s", got)
	}
}

// TestConnectionsLater checks that nobody is asked about the connection of a command whose
// call has ended, and that a question ends with its time or its call.
func TestConnectionsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "")
		silent := func(ctx context.Context, _ Question) (Reply, error) {
			<-ctx.Done()
			return Reply{}, context.Cause(ctx)
		}
		begin := b.Now()
		if got := b.connect(t, "a.example", silent); !strings.HasPrefix(got, "no rule names the host a.example; the user did not answer in time. ") || b.Now().Sub(begin) != connectionTime {
			t.Errorf("after %v: %s", b.Now().Sub(begin), got)
		}
		r := b.request("Do", `{"do":"connections"}`)
		r.Ask, r.AskWaits = silent, true
		if _, err := b.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		later := <-connectLater
		begin = b.Now()
		err := later.Allow(t.Context(), site.Site{Host: "b.example", Port: 443})
		if err == nil || !strings.HasPrefix(err.Error(), "no rule names the host b.example, and the user cannot be asked here. ") || b.Now() != begin {
			t.Errorf("after the call: %v", err)
		}
	})
}
