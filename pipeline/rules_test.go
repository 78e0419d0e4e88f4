package pipeline

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
)

// rulesOf returns the rules of settings for the bench.
func (b *bench) rulesOf(t *testing.T, text string) Rules {
	t.Helper()
	set, err := settings.Parse([]byte(text), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Policy: policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: b.Roots.Paths(), Closed: []string{b.state}})}
}

// TestRulesChangeWhileAsked checks that the rules that hold at the user's answer decide whether an
// accepted call runs.
func TestRulesChangeWhileAsked(t *testing.T) {
	accepted := Reply{Allow: true, How: Accepted}
	for name, tc := range map[string]struct{ rules, want string }{
		"denied":    {`{"permissions":{"deny":["Do(ask.txt)"]}}`, "failed: Do: refused by policy: the deny rule Do(ask.txt) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		"tool gone": {`{"permissions":{"deny":["Do"]}}`, "failed: Do: refused by policy: the deny rule Do covers every call of Do. "},
		"asked":     {`{"permissions":{"ask":["Do"]}}`, "done"},
		"allowed":   {`{}`, "done"},
		"the same":  {asks, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, asks)
			got := b.ask(t, "Do", `{"do":"x","arg":"done","path":"ask.txt"}`, func(context.Context, Question) (Reply, error) {
				b.SetRules(b.rulesOf(t, tc.rules))
				return accepted, nil
			})
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestRulesChangeWhileWaiting checks that a call that nothing had to approve is not run if the new
// rules ask about it or deny it.
func TestRulesChangeWhileWaiting(t *testing.T) {
	for rules, want := range map[string]string{
		`{"permissions":{"ask":["Do"]}}`:  "failed: Do: refused by policy: the settings changed while the call waited, and now it needs the user's approval. Send it again.",
		`{"permissions":{"deny":["Do"]}}`: "failed: Do: refused by policy: the deny rule Do covers every call of Do. Do without this tool, or ask the user to change the rule in /etc/test.json:1.",
		`{}`:                              "done",
	} {
		b := newBench(t, `{}`)
		looks := 0
		b.Now = ticking()
		b.Reload = func() {
			if looks++; looks == 3 { // at the arrival, at the turn, before it runs
				b.SetRules(b.rulesOf(t, rules))
			}
		}
		if got := b.run(t, t.Context(), "Do", `{"do":"x","arg":"done"}`); got != want {
			t.Errorf("%s:\n got %s\nwant %s", rules, got, want)
		}
	}
}

// TestAnnounce checks that each session gets a text once, and the next text, too.
func TestAnnounce(t *testing.T) {
	b := newBench(t, `{}`)
	for _, tc := range []struct{ announce, want string }{
		{"", "done"}, {"[one]", "done[one]"}, {"[one]", "done"}, {"[two]", "done[two]"}, {"", "done"}, {"[two]", "done[two]"},
	} {
		b.Announce(tc.announce)
		if got := strings.ReplaceAll(b.run(t, t.Context(), "Do", `{"do":"x","arg":"done"}`), "\n", ""); got != tc.want {
			t.Errorf("after %q: %q, want %q", tc.announce, got, tc.want)
		}
	}
}

// ticking returns a clock that advances by checkEvery at each look.
func ticking() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return time.Unix(0, n.Add(int64(checkEvery))) }
}
