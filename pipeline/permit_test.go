package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/policy"
)

// approvals gives the pipeline a store of its own, in a folder.
func (b *bench) approvals(t *testing.T) (folder string) {
	t.Helper()
	b.Pending, folder = true, t.TempDir()
	b.Approvals = approval.New(approval.Config{Folder: folder, Server: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := b.Approvals.Close(); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// ask runs a call of a client whose user answers.
func (b *bench) ask(t *testing.T, tool, args string, asker Asker) string {
	t.Helper()
	r := b.request(tool, args)
	r.Ask = asker
	resp, err := b.Run(t.Context(), r)
	if err != nil {
		return "error: " + err.Error()
	}
	text := joinText(resp.Content)
	if resp.Failed {
		text = "failed: " + text
	}
	return strings.ReplaceAll(text, b.root, "$ROOT")
}

const asks = `{"permissions":{"ask":["Do(ask.txt)"],"deny":["Do(no.txt)"]}}`

// TestAsk checks that the call runs with exactly what the user is shown, and
// that the answer decides.
func TestAsk(t *testing.T) {
	const outside = `{"do":"x","arg":"done","path":"/outside"}`
	for name, tc := range map[string]struct {
		args  string
		reply Reply
		asked bool
		want  string
	}{
		"accept":    {outside, Reply{Allow: true, How: Accepted}, true, "done"},
		"decline":   {outside, Reply{How: Declined}, true, "failed: Do: refused by policy: the user declined changing /outside. Do not try to reach it another way; continue without it or ask the user what to do."},
		"cancel":    {outside, Reply{How: Cancelled}, true, "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT); the question to the user was cancelled without an answer. Use a path inside the roots, or ask the user to add an allow rule such as Edit(//outside) to /etc/test.json."},
		"timeout":   {outside, Reply{How: TimedOut}, true, "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT); the user did not answer in time. Use a path inside the roots, or ask the user to add an allow rule such as Edit(//outside) to /etc/test.json."},
		"no answer": {outside, Reply{How: NoAnswer}, true, "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT); the client gave no answer. Use a path inside the roots, or ask the user to add an allow rule such as Edit(//outside) to /etc/test.json."},
		"rule":      {`{"do":"x","arg":"done","path":"ask.txt"}`, Reply{Allow: true, How: Accepted}, true, "done"},
		"denied":    {`{"do":"x","path":"no.txt"}`, Reply{Allow: true, How: Accepted}, false, "failed: Do: refused by policy: the deny rule Do(no.txt) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		"allowed":   {`{"do":"x","arg":"done"}`, Reply{How: Declined}, false, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, asks)
			var got *Question
			answer := b.ask(t, "Do", tc.args, func(_ context.Context, q Question) (Reply, error) {
				got = &q
				return tc.reply, nil
			})
			if answer != tc.want || (got != nil) != tc.asked {
				t.Errorf("asked: %v\ngot  %s\nwant %s", got != nil, answer, tc.want)
			}
			if got != nil && (got.Tool != "Do" || got.Reason == "" || !strings.Contains(string(got.Input), `"path":"`) || got.Always != "") {
				t.Errorf("the question: %+v", got)
			}
		})
	}
}

// TestAlways checks that the user may allow exactly this call permanently, but
// not one that a rule asks about each time. A decline is remembered too.
func TestAlways(t *testing.T) {
	b := newBench(t, asks)
	b.approvals(t)
	n := 0
	answer := func(r Reply) Asker {
		return func(_ context.Context, q Question) (Reply, error) {
			n++
			if strings.Contains(string(q.Input), "ask.txt") != (q.Always == "") {
				t.Errorf("always: %q for %s", q.Always, q.Input)
			}
			return r, nil
		}
	}
	yes, no := Reply{Allow: true, Always: true, How: Accepted}, Reply{How: Declined}
	for i, step := range []struct {
		args  string
		reply Reply
		asked int
		want  string
	}{
		{`{"do":"x","arg":"1","path":"/outside/a"}`, yes, 1, "1"},
		{`{"do":"x","arg":"2","path":"/outside/a"}`, no, 0, "2"},
		{`{"do":"x","arg":"3","path":"/outside/b"}`, no, 1, "failed: "},
		{`{"do":"x","arg":"4","path":"/outside/b"}`, yes, 0, "failed: Do: refused by policy: the user declined changing /outside/b. Do not try to reach it another way; continue without it or ask the user what to do."},
		{`{"do":"x","arg":"5","path":"/outside/a/below"}`, no, 1, "failed: "},
		{`{"do":"x","arg":"6","path":"ask.txt"}`, Reply{Allow: true, How: Accepted}, 1, "6"},
		{`{"do":"x","arg":"7","path":"ask.txt"}`, Reply{Allow: true, How: Accepted}, 1, "7"},
	} {
		n = 0
		if got := b.ask(t, "Do", step.args, answer(step.reply)); !strings.HasPrefix(got, step.want) || n != step.asked {
			t.Errorf("step %d: asked %d times, %s", i, n, got)
		}
	}
}

// TestPending checks that a call gets a number if the client cannot ask.
func TestPending(t *testing.T) {
	b := newBench(t, asks)
	b.approvals(t)
	const args = `{"do":"x","arg":"done","path":"/outside"}`
	want := "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT); approval 1 is pending. Ask the user to run `mcp-toolset approve 1` (or `mcp-toolset deny 1`) or to answer in `mcp-toolset console`, on the machine of the server, then send exactly this call again."
	for range 2 {
		if got := b.ask(t, "Do", args, nil); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := b.ask(t, "Do", `{"do":"x","arg":"other","path":"/outside"}`, nil); !strings.Contains(got, "approval 2 is pending") {
		t.Errorf("another call: %s", got)
	}
}

// TestUnanswered checks that a question without an answer leads to a numbered
// approval in both eras: where the call waits, and where it is sent again with the
// answer. A decline does not.
func TestUnanswered(t *testing.T) {
	const args = `{"do":"x","arg":"done","path":"/outside"}`
	for _, how := range []string{Cancelled, TimedOut, NoAnswer, Declined} {
		for _, again := range []bool{false, true} {
			b := newBench(t, asks)
			folder := b.approvals(t)
			b.hooks(t, func(hook.Event, hook.Input) hook.Verdict { return hook.Verdict{} }, "PreToolUse")
			call := func() string {
				var kept any
				if again {
					r := b.request("Do", args)
					r.Ask = func(_ context.Context, q Question) (Reply, error) { return Reply{}, &InputRequired{Question: q} }
					_, err := b.Run(t.Context(), r)
					var needed *InputRequired
					if !errors.As(err, &needed) {
						return ""
					}
					kept = needed.State
				}
				r := b.request("Do", args)
				r.Resumed, r.Ask = kept, func(context.Context, Question) (Reply, error) { return Reply{How: how}, nil }
				resp, err := b.Run(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(joinText(resp.Content), b.root, "$ROOT")
			}
			want := "Do: refused by policy: /outside is outside the workspace roots ($ROOT); approval 1 is pending. Ask the user to run `mcp-toolset approve 1` (or `mcp-toolset deny 1`) or to answer in `mcp-toolset console`, on the machine of the server, then send exactly this call again."
			if how == Declined {
				want = "Do: refused by policy: the user declined changing /outside. Do not try to reach it another way; continue without it or ask the user what to do."
			}
			if got := call(); got != want {
				t.Errorf("%s, again %t\ngot  %s\nwant %s", how, again, got, want)
			}
			if _, err := approval.Approve(t.Context(), folder, 1, false); (err == nil) != (how != Declined) {
				t.Errorf("%s: approving: %v", how, err)
			}
			if got := b.ask(t, "Do", args, func(context.Context, Question) (Reply, error) { return Reply{How: how}, nil }); (got == "done") != (how != Declined) {
				t.Errorf("%s: the call sent again: %s", how, got)
			}
		}
	}
}

// TestSentAgain checks that hooks run once if the answer comes with another
// request, and that their verdict holds only for the same call.
func TestSentAgain(t *testing.T) {
	b := newBench(t, asks)
	runs := 0
	b.hooks(t, func(hook.Event, hook.Input) hook.Verdict {
		runs++
		return hook.Verdict{UpdatedInput: json.RawMessage(`{"do":"x","arg":"by the hook","path":"/outside"}`), Context: []string{"heard"}}
	}, "PreToolUse")
	const args = `{"do":"x","arg":"done","path":"/outside"}`
	var kept any
	required := func(_ context.Context, q Question) (Reply, error) {
		if !strings.Contains(string(q.Input), "by the hook") {
			t.Errorf("the person is shown %s", q.Input)
		}
		return Reply{}, &InputRequired{Question: q}
	}
	r := b.request("Do", args)
	r.Ask = required
	var needed *InputRequired
	if resp, err := b.Run(t.Context(), r); resp != nil || !errors.As(err, &needed) || needed.Size == 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	kept = needed.State
	again := func(args string) string {
		r := b.request("Do", args)
		r.Resumed = kept
		r.Ask = func(context.Context, Question) (Reply, error) { return Reply{Allow: true, How: Accepted}, nil }
		resp, err := b.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return joinText(resp.Content)
	}
	if got := again(args); got != "by the hook\nheard" || runs != 1 {
		t.Errorf("%s, hooks ran %d times", got, runs)
	}
	if got := again(`{"do":"x","arg":"else","path":"/outside"}`); got != "by the hook\nheard" || runs != 2 {
		t.Errorf("another call: %s, hooks ran %d times", got, runs)
	}
}

// TestAskHoldsNobodyElse checks that a call that waits for the user's answer retains its
// place in its lane but holds no slot.
func TestAskHoldsNobodyElse(t *testing.T) {
	b := newBench(t, asks)
	scheduler := concurrency.New(concurrency.Config{PerLane: 1, Total: 1})
	b.lane = scheduler.NewLane("")
	asked, answer := make(chan struct{}), make(chan struct{})
	done := make(chan string)
	r := b.request("Do", `{"do":"x","arg":"first","path":"/outside"}`)
	r.Ask = func(context.Context, Question) (Reply, error) {
		close(asked)
		<-answer
		return Reply{Allow: true, How: Accepted}, nil
	}
	run := func(r Request) {
		resp, err := b.Run(t.Context(), r)
		if err != nil {
			t.Error(err)
			done <- ""
			return
		}
		done <- joinText(resp.Content)
	}
	go run(r)
	<-asked
	behind := b.request("Look", `{"do":"x","arg":"behind"}`)
	go run(behind)
	b.lane = scheduler.NewLane("other")
	go run(b.request("Do", `{"do":"x","arg":"other"}`))
	if got := <-done; got != "other" {
		t.Errorf("%q came first", got)
	}
	close(answer)
	if one, two := <-done, <-done; one+two != "firstbehind" && one+two != "behindfirst" {
		t.Errorf("%q, %q", one, two)
	}
}

// TestClassifier checks that the classifier judges calls that nothing else
// decides.
func TestClassifier(t *testing.T) {
	for name, tc := range map[string]struct {
		opinion *policy.ExternalDecision
		args    string
		asked   bool
		want    string
	}{
		"allow":      {&policy.ExternalDecision{Behavior: policy.Allow}, `{"do":"x","arg":"done","path":"/outside"}`, true, "done"},
		"deny":       {&policy.ExternalDecision{Behavior: policy.Deny, Reason: "too risky"}, `{"do":"x","path":"/outside"}`, true, "failed: Do: refused by policy: the classifier decided deny: too risky. Do it another way, or ask the user to allow it by a rule."},
		"ask":        {&policy.ExternalDecision{Behavior: policy.Ask, Reason: "not sure"}, `{"do":"x","path":"/outside"}`, true, "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT) (the classifier decided ask: not sure), and the user cannot be asked here. "},
		"no opinion": {nil, `{"do":"x","path":"/outside"}`, true, "failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT), and the user cannot be asked here. "},
		"a rule":     {&policy.ExternalDecision{Behavior: policy.Allow}, `{"do":"x","path":"ask.txt"}`, false, "failed: "},
		"allowed":    {&policy.ExternalDecision{Behavior: policy.Deny}, `{"do":"x","arg":"done"}`, false, "done"},
	} {
		b := newBench(t, asks)
		asked := false
		b.rules.Load().Classify = func(_ context.Context, q classifier.Question) *policy.ExternalDecision {
			asked = true
			if q.Tool != "Do" || q.Mode != "default" || q.Dir != b.root {
				t.Errorf("%s: %+v", name, q)
			}
			return tc.opinion
		}
		if got := b.ask(t, "Do", tc.args, nil); !strings.HasPrefix(got, tc.want) || asked != tc.asked {
			t.Errorf("%s: asked %v, %s", name, asked, got)
		}
	}
}

// TestManual checks that the mode manual asks the user about a change and not a
// classifier, that reading is still allowed, and that the user may allow a change
// permanently.
func TestManual(t *testing.T) {
	b := newBench(t, asks)
	b.rules.Load().Policy = policy.New(policy.Config{Roots: []string{b.root}, Mode: policy.ModeManual})
	b.approvals(t)
	b.rules.Load().Classify = func(context.Context, classifier.Question) *policy.ExternalDecision {
		t.Error("a classifier is asked")
		return &policy.ExternalDecision{Behavior: policy.Allow}
	}
	asked := 0
	always := func(_ context.Context, q Question) (Reply, error) {
		asked++
		return Reply{Allow: true, Always: q.Always != "", How: Accepted}, nil
	}
	if got := b.ask(t, "Look", `{"do":"x","arg":"read"}`, nil); got != "read" {
		t.Error(got)
	}
	const args = `{"do":"x","arg":"done","path":"file"}`
	if got := b.ask(t, "Do", args, nil); !strings.Contains(got, "the mode manual asks about every call that may change something; approval 1 is pending") {
		t.Error(got)
	}
	for range 2 {
		if got := b.ask(t, "Do", args, always); got != "done" || asked != 1 {
			t.Errorf("asked %d times: %s", asked, got)
		}
	}
}

// TestOnlyWhatWasAsked checks that an approval for a folder does not settle an
// ask rule about a path below it.
func TestOnlyWhatWasAsked(t *testing.T) {
	b := newBench(t, `{"permissions":{"ask":["Edit(secret/**)"]}}`)
	args, err := json.Marshal(map[string]string{"do": "open", "arg": filepath.Join(b.root, "secret", "key"), "path": b.root})
	if err != nil {
		t.Fatal(err)
	}
	want := "failed: Do: refused by policy: the ask rule Edit(secret/**) covers $ROOT/secret/key, and the user is not asked in the middle of a call. Name this path itself in a call."
	if got := b.ask(t, "Do", string(args), nil); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGrantedIsOneFolder checks that an approval of a folder opens only the
// paths below it.
func TestGrantedIsOneFolder(t *testing.T) {
	out := t.TempDir()
	b := newBench(t, asks)
	yes := func(context.Context, Question) (Reply, error) { return Reply{Allow: true, How: Accepted}, nil }
	for path, want := range map[string]string{
		filepath.Join(out, "below", "f"): "no such file", filepath.Join(filepath.Dir(out), "beside"): "outside the workspace roots",
	} {
		args, err := json.Marshal(map[string]string{"do": "open", "arg": path, "path": out})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.ask(t, "Do", string(args), yes); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestPendingInstead checks that a call that waits for an approval first names
// an alternative that needs none.
func TestPendingInstead(t *testing.T) {
	d := policy.Decision{Reason: "/tmp/a is outside the workspace roots (/ws)"}
	for instead, want := range map[string]string{
		"":                                "refused by policy: /tmp/a is outside the workspace roots (/ws); approval 7 is pending. Ask the user to run `mcp-toolset approve 7` (or `mcp-toolset deny 7`) or to answer in `mcp-toolset console`, on the machine of the server, then send exactly this call again.",
		"use $TMPDIR for temporary files": "refused by policy: /tmp/a is outside the workspace roots (/ws); approval 7 is pending. Use $TMPDIR for temporary files. For this path: ask the user to run `mcp-toolset approve 7` (or `mcp-toolset deny 7`) or to answer in `mcp-toolset console`, on the machine of the server, then send exactly this call again.",
	} {
		d.Alternative = instead
		if got := fault(approval.PendingText(7, "Do"), d).Error(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestEachTime checks the reasons why a call cannot be always allowed.
func TestEachTime(t *testing.T) {
	for want, d := range map[string]policy.Decision{
		"":                            {Open: true, Layer: policy.LayerPath},
		"a rule asks each time":       {Layer: policy.LayerRule},
		"a hook asks each time":       {Layer: policy.LayerHook},
		"it is asked about each time": {Layer: policy.LayerTool},
		"what it does is only known when it runs":                   {Layer: policy.LayerDefault},
		"a command outside of the sandbox is asked about each time": {Layer: policy.LayerSandbox},
	} {
		if got := eachTime(d); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
	if got := eachTime(policy.Decision{Layer: policy.LayerClassifier}); got != "" {
		t.Errorf("the classifier: %q", got)
	}
}
