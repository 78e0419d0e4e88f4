package pipeline

import (
	"context"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/session"
)

// TestSites checks that the user is asked about a host once in a session, unless a rule asks
// each time, and that "always" holds for the host.
func TestSites(t *testing.T) {
	b := newBench(t, `{"permissions":{"ask":["WebFetch(domain:each.example)"],"allow":["WebFetch(domain:ok.example)"],"deny":["WebFetch(domain:93.184.216.34)"]}}`)
	b.approvals(t)
	yes, always, no := Reply{Allow: true, How: Accepted}, Reply{Allow: true, Always: true, How: Accepted}, Reply{How: Declined}
	other := session.New(session.Config{ID: "2", Roots: b.session.View().Roots})
	first := b.session
	for i, step := range []struct {
		session *session.Session
		args    string
		reply   Reply
		asked   string // what "always" would allow; "-": not asked
		want    string
	}{
		{first, `{"do":"x","arg":"1","path":"ok.example"}`, no, "-", "1"},
		{first, `{"do":"x","arg":"2","path":"a.example"}`, yes, "future calls of WebFetch to a.example in this workspace", "2"},
		{first, `{"do":"x","arg":"3","path":"a.example"}`, no, "-", "3"},
		{other, `{"do":"x","arg":"4","path":"a.example"}`, no, "future calls of WebFetch to a.example in this workspace", "failed: WebFetch: refused by policy: the user declined reaching a.example. Do not try to reach it another way; continue without it or ask the user what to do."},
		{first, `{"do":"x","arg":"5","path":"b.a.example"}`, no, "future calls of WebFetch to b.a.example in this workspace", "failed: "},
		{first, `{"do":"x","arg":"6","path":"each.example"}`, yes, "", "6"},
		{first, `{"do":"x","arg":"7","path":"each.example"}`, yes, "", "7"},
		{first, `{"do":"x","arg":"8","path":"c.example"}`, always, "future calls of WebFetch to c.example in this workspace", "8"},
		{other, `{"do":"x","arg":"9","path":"c.example"}`, no, "-", "9"},
		{first, `{"do":"dial","path":"ok.example","arg":"127.0.0.1"}`, no, "-", "failed: WebFetch: refused by policy: ok.example has the address 127.0.0.1, which is on this machine. Use a public address, or ask the user to add an allow rule such as WebFetch(domain:127.0.0.1) to /etc/test.json."},
		{first, `{"do":"dial","path":"ok.example","arg":"93.184.216.34"}`, no, "-", "failed: WebFetch: refused by policy: the deny rule WebFetch(domain:93.184.216.34) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		{first, `{"do":"dial","path":"ok.example","arg":"93.184.216.35"}`, no, "-", "93.184.216.35"},
	} {
		asked := "-"
		b.session = step.session
		got := b.ask(t, "WebFetch", step.args, func(_ context.Context, q Question) (Reply, error) {
			asked = q.Always
			if (q.Session == "") != (q.Always == "") || q.Session != "" && !strings.Contains(q.Always, strings.TrimPrefix(q.Session, "other ")) {
				t.Errorf("step %d: %q for the session, %q always", i, q.Session, q.Always)
			}
			return step.reply, nil
		})
		if !strings.HasPrefix(got, step.want) || asked != step.asked {
			t.Errorf("step %d: asked %q, %s", i, asked, got)
		}
	}
	b.Approvals.Forget("1")
	b.session = first
	if got := b.ask(t, "WebFetch", `{"do":"x","arg":"1","path":"a.example"}`, nil); !strings.Contains(got, "no rule names the host a.example; approval ") {
		t.Errorf("after the end of the session: %s", got)
	}
}

// TestPendingSite checks that an approval by number holds for the host, too.
func TestPendingSite(t *testing.T) {
	b := newBench(t, "")
	folder := b.approvals(t)
	const args = `{"do":"x","arg":"1","path":"a.example"}`
	if got := b.ask(t, "WebFetch", args, nil); !strings.Contains(got, "approval 1 is pending") {
		t.Fatal(got)
	}
	if _, err := approval.Approve(t.Context(), folder, 1, false); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(t, "WebFetch", `{"do":"x","arg":"2","path":"a.example"}`, nil); !strings.Contains(got, "approval 2 is pending") {
		t.Errorf("another call before the approved one: %s", got)
	}
	for _, args := range []string{args, `{"do":"x","arg":"2","path":"a.example"}`} {
		if got := b.ask(t, "WebFetch", args, nil); strings.HasPrefix(got, "failed") {
			t.Errorf("after the approval: %s", got)
		}
	}
}
