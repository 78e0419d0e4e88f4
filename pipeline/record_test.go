package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/record/audit"
)

// audited has every entry noted.
func (b *bench) audited(fail *error) *[]audit.Entry {
	var all []audit.Entry
	b.Audit = func(_ context.Context, e audit.Entry) error {
		if fail != nil && *fail != nil {
			return *fail
		}
		all = append(all, e)
		return nil
	}
	return &all
}

// TestAudit checks that each call has one entry, whatever its end, with the
// input as it ran.
func TestAudit(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		ctx        context.Context
		tool, args string
		want       string // outcome, behavior, layer, rule, input, error
	}{
		{t.Context(), "Do", `{"do":"x","arg":"done"}`, `ok allow default  {"do":"x","arg":"done"} `},
		{t.Context(), "Former", `{"do":"x","arg":"done"}`, `ok allow read-only  {"do":"x","arg":"done"} `},
		{t.Context(), "Do", `{"do":"x","arg":"done","path":"a"}`, `ok allow default  {"do":"x","arg":"done","path":"$ROOT/a"} `},
		{t.Context(), "Do", `{"do":"fail","arg":"broken"}`, `failed allow default  {"do":"fail","arg":"broken"} broken`},
		{t.Context(), "Do", `{"do":"panic","arg":"secret"}`, `failed allow default  {"do":"panic","arg":"secret"} the tool stopped on an internal error`},
		{t.Context(), "Do", `{"do":"x","path":"no.txt"}`, `refused deny rule Do(no.txt) {"do":"x","path":"$ROOT/no.txt"} the deny rule Do(no.txt) covers this call`},
		{t.Context(), "Do", `{"do":"x","path":"ask.txt"}`, `refused ask rule Do(ask.txt) {"do":"x","path":"$ROOT/ask.txt"} the ask rule Do(ask.txt) covers this call, and the user cannot be asked here`},
		{t.Context(), "Do", `{"du":"x"}`, `invalid    {"du":"x"} unknown property "du"`},
		{t.Context(), "Doo", `{}`, `invalid    {} there is no tool "Doo"; the nearest is Do`},
		{cancelled, "Do", `{"do":"x"}`, `cancelled    {"do":"x"} the call was cancelled`},
	} {
		b := newBench(t, asks)
		all := b.audited(nil)
		b.run(t, tc.ctx, tc.tool, tc.args)
		if len(*all) != 1 {
			t.Errorf("%s %s: %d entries", tc.tool, tc.args, len(*all))
			continue
		}
		e := (*all)[0]
		behavior := e.Decision.Behavior
		got := strings.Join([]string{e.Outcome, behavior, e.Decision.Layer, e.Decision.Rule, string(e.Input), e.Error}, " ")
		if got = strings.ReplaceAll(got, b.root, "$ROOT"); got != tc.want || e.Time.IsZero() || e.Tool == "" {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.tool, tc.args, got, tc.want)
		}
	}
}

// TestAuditOfQuestion checks that a call that the client must send again with
// an answer is logged each time.
func TestAuditOfQuestion(t *testing.T) {
	b := newBench(t, asks)
	all := b.audited(nil)
	r := b.request("Do", `{"do":"x","path":"ask.txt"}`)
	r.Ask = func(_ context.Context, q Question) (Reply, error) { return Reply{}, &InputRequired{Question: q} }
	if resp, err := b.Run(t.Context(), r); resp != nil || !pending(err) {
		t.Fatalf("%+v, %v", resp, err)
	}
	if len(*all) != 1 || (*all)[0].Outcome != audit.Asked || (*all)[0].Decision.Behavior != "ask" {
		t.Errorf("%+v", *all)
	}
	b.Refused(t.Context(), b.request("Do", `{}`), errors.New("too many calls are waiting"))
	if e := (*all)[1]; len(*all) != 2 || e.Outcome != audit.Invalid || e.Error != "too many calls are waiting" {
		t.Errorf("%+v", *all)
	}
}

// TestAuditOfHooks checks that the actions of hooks are logged, and the text
// they replaced.
func TestAuditOfHooks(t *testing.T) {
	b := newBench(t, "")
	all := b.audited(nil)
	b.hooks(t, func(event hook.Event, _ hook.Input) hook.Verdict {
		if event == hook.PreToolUse {
			return hook.Verdict{UpdatedInput: json.RawMessage(`{"do":"x","arg":"by the hook"}`)}
		}
		return hook.Verdict{Replace: json.RawMessage(`"[cut]"`), Block: "no", By: "./judge"}
	}, "PreToolUse", "PostToolUse")
	b.run(t, t.Context(), "Do", `{"do":"x","arg":"done"}`)
	e := (*all)[0]
	if string(e.Input) != `{"do":"x","arg":"by the hook"}` || e.Original != "by the hook" || strings.Join(e.Hooks, ", ") != "the input was changed, ./judge: block, the output was replaced" {
		t.Errorf("%+v", e)
	}
	if e.Bytes != len("[cut]\nA hook objects: no") {
		t.Errorf("%d bytes", e.Bytes)
	}
}

// TestAuditRequired checks that a result is not shown if its call cannot be
// logged, and that no call runs until the log works again.
func TestAuditRequired(t *testing.T) {
	b := newBench(t, "")
	broken := errors.New("the disk is full")
	failing := broken
	all := b.audited(&failing)
	b.AuditRequired = true
	const args = `{"do":"x","arg":"done"}`
	withheld := "failed: Do: failed: what became of the call cannot be written to the audit log, so its result is not shown: the disk is full. Do not repeat the call; ask the user to look at the audit log."
	refused := "failed: Do: refused by policy: the audit log could not be written, and no call is done without. Ask the user to look at the audit log, then send this call again."
	for i, step := range []struct {
		fail error
		want string
	}{{broken, withheld}, {broken, refused}, {nil, refused}, {nil, "done"}} {
		failing = step.fail
		if got := b.run(t, t.Context(), "Do", args); got != step.want {
			t.Errorf("step %d:\n got %s\nwant %s", i, got, step.want)
		}
	}
	if len(*all) != 2 || (*all)[0].Outcome != audit.Refused || (*all)[1].Outcome != audit.OK {
		t.Errorf("%+v", *all)
	}
	b.AuditReady = func(context.Context) error { return broken }
	if got := b.run(t, t.Context(), "Do", args); got != refused {
		t.Errorf("where there is no room: %s", got)
	}
	b.AuditReady = nil
	b.AuditRequired, failing = false, broken
	if got := b.run(t, t.Context(), "Do", args); got != "done" {
		t.Errorf("where it is not required: %s", got)
	}
}
