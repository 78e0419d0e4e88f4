package pipeline

import (
	"context"
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestPublishing checks that the user is asked about each kind of publishing once in a session,
// unless a rule decides.
func TestPublishing(t *testing.T) {
	b := newBench(t, `{"permissions":{"ask":["Bash(git push each)"],"allow":["Bash(git push free)"],"deny":["Bash(git push never)"]}}`)
	bash := doer("Bash", func(d *tools.Def[doIn, doIn, doOut]) {
		d.Parts = func(_ *tools.Env, in doIn) *tools.Parts {
			kind, _, _ := strings.Cut(in.Arg, " to")
			part := policy.Part{Text: in.Arg, Name: in.Arg, Allowable: true, Publishes: strings.Join(strings.Fields(kind)[:min(2, len(strings.Fields(kind)))], " ")}
			if in.Do == "force" {
				part.Risk, part.Publishes = "it overwrites", ""
			}
			return &tools.Parts{Text: in.Arg, List: []policy.Part{part}}
		}
	})
	r, err := tools.NewRegistry(append(b.Registry.Tools(), bash), tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = r
	b.approvals(t)
	const why = " needs approval: it publishes something; agreeing holds for each "
	yes, no := Reply{Allow: true, How: Accepted}, Reply{How: Declined}
	first, other := b.session, session.New(session.Config{ID: "2", Roots: b.session.View().Roots})
	for i, step := range []struct {
		session *session.Session
		arg     string
		reply   Reply
		asked   string // the reason; "": not asked
		want    string
	}{
		{first, "git push free", no, "", "git push free"},
		{first, "git push a", no, "git push a" + why + "git push of this session", "failed: Bash: refused by policy: the user declined this command. Do not try to do the same another way; continue without it or ask the user what to do."},
		{first, "git push b", yes, "git push b" + why + "git push of this session", "git push b"},
		{first, "git push c", no, "", "git push c"},
		{first, "gh pr", yes, "gh pr" + why + "gh pr of this session", "gh pr"},
		{first, "git push each", yes, "the ask rule Bash(git push each) covers this call", "git push each"},
		{first, "git push each", yes, "the ask rule Bash(git push each) covers this call", "git push each"},
		{first, "git push never", yes, "", "failed: Bash: refused by policy: the deny rule Bash(git push never)"},
		{other, "git push c", yes, "git push c" + why + "git push of this session", "git push c"},
		{other, "git push d", no, "", "git push d"},
	} {
		asked := ""
		req := b.request("Bash", `{"do":"x","arg":"`+step.arg+`"}`)
		req.Session = step.session
		req.Ask = func(_ context.Context, q Question) (Reply, error) {
			asked = q.Reason
			return step.reply, nil
		}
		resp, err := b.Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		got := joinText(resp.Content)
		if resp.Failed {
			got = "failed: " + got
		}
		if asked != step.asked || !strings.HasPrefix(got, step.want) {
			t.Errorf("%d %s: asked %q, answer %s\nwant %q, %s", i, step.arg, asked, got, step.asked, step.want)
		}
	}
}
