package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/tools"
)

// TestActivity checks which progress a client gets that asked for it: the activity text after half
// a second, values that grow, and nothing for a short call.
func TestActivity(t *testing.T) {
	for _, c := range []struct{ name, arg, want string }{
		{"short", "400ms", ""},
		{"long", "600ms", "500ms: 0 Reading sub/x.go"},
		{"the tool names it", "activity:Reading\n3 400ms", ""},
		{"the tool names it and is long", "activity:Reading_3 600ms", "500ms: 0 Reading_3"},
		{"the tool names it later", "600ms activity:Reading\x1b3 1s", "500ms: 0 Reading sub/x.go\n600ms: 0.6 Reading\\x1b3"},
		{"the tool reports early", "done:7 600ms activity:x done:8", "0s: 7 at 7\n600ms: 8 at 8"},
		{"values grow", "600ms done:0 done:0.1 1s", "500ms: 0 Reading sub/x.go\n600ms: 0.001 at 0\n600ms: 0.1 at 0.1"},
		{"the tool counts anew", "done:5 done:2 done:6", "0s: 5 at 5\n0s: 5.001 at 2\n0s: 6 at 6"},
		{"the tool names it, then counts", "1s activity:x 1s done:0.5", "500ms: 0 Reading sub/x.go\n1s: 1 x\n2s: 1.001 at 0.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, `{"permissions":{"allow":["Do"]}}`)
				b.Now = time.Now
				began := time.Now()
				r := b.request("Do", fmt.Sprintf(`{"do":"sleep","path":%q,"arg":%q}`, b.root+"/sub/x.go", c.arg))
				r.Arguments = []byte(strings.ReplaceAll(string(r.Arguments), `\x1b`, `\u001b`))
				var heard []string
				r.Progress = func(p tools.Progress) {
					heard = append(heard, fmt.Sprintf("%v: %v %s", time.Since(began), p.Done, p.Message))
				}
				if resp, err := b.Run(t.Context(), r); err != nil || resp.Failed {
					t.Fatalf("%v, %v", resp, err)
				}
				time.Sleep(time.Minute) // nothing follows the answer
				synctest.Wait()
				if diff := cmp.Diff(c.want, strings.Join(heard, "\n")); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestActivityNested checks that calls of a call go on with its progress.
func TestActivityNested(t *testing.T) {
	b := newBench(t, `{"permissions":{"allow":["Do"]}}`)
	inner := `Do {"do":"sleep","arg":"done:2 done:3"}`
	args, err := json.Marshal(doIn{Do: "calls", Arg: inner + "\n" + inner})
	if err != nil {
		t.Fatal(err)
	}
	r := b.request("Do", string(args))
	var heard []string
	r.Progress = func(p tools.Progress) { heard = append(heard, fmt.Sprint(p.Done, " ", p.Message)) }
	if resp, err := b.Run(t.Context(), r); err != nil || resp.Failed {
		t.Fatalf("%v, %v", resp, err)
	}
	if diff := cmp.Diff([]string{"2 at 2", "3 at 3", "3.001 at 2", "3.002 at 3"}, heard); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// TestNoProgressAfter checks that nothing is sent after the end of a call, even by a tool that
// still runs, and that a call which runs does not wait.
func TestNoProgressAfter(t *testing.T) {
	var heard []string
	c := &call{p: &Pipeline{Config: Config{Now: time.Now}}}
	c.Progress = func(p tools.Progress) { heard = append(heard, p.Message) }
	c.activity.last = -1
	c.waiting(time.Second, "x")
	c.announce()
	c.waiting(2*time.Second, "y")
	c.progress(tools.Progress{Done: 1, Message: "z"})
	c.endProgress()
	c.progress(tools.Progress{Done: 2, Message: "late"})
	if diff := cmp.Diff([]string{"waits for x", "z"}, heard); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// TestSumWithheld checks that the summary has nothing of a result that is not shown.
func TestSumWithheld(t *testing.T) {
	b := newBench(t, "")
	b.Audit = func(context.Context, audit.Entry) error { return errors.New("the disk is full") }
	b.AuditRequired = true
	resp, err := b.Run(t.Context(), b.request("Do", `{"do":"fault","arg":"the secret is 7"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Meta[metaSummary]; got != "Failed: what became of the call cannot be written to the audit log, so its result is not shown: the disk is full" {
		t.Errorf("%q", got)
	}
	b = newBench(t, "")
	b.hooks(t, func(hook.Event, hook.Input) hook.Verdict { return hook.Verdict{Replace: json.RawMessage(`"[cut]"`)} }, "PostToolUse")
	resp, err = b.Run(t.Context(), b.request("Do", `{"do":"sum","arg":"the secret is 7"}`))
	if err != nil || resp.Failed {
		t.Fatalf("%+v, %v", resp, err)
	}
	if got := fmt.Sprint(resp.Meta); got != "map[mcp-toolset/summary:Do]" {
		t.Error(got)
	}
}

// TestSum checks the summary in the _meta of each kind of answer.
func TestSum(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Do(//**/secret)"]}}`)
	for _, c := range []struct{ args, want string }{
		{`{"do":"say","arg":"x"}`, "Do"},
		{`{"do":"invalid"}`, "Invalid input: do is invalid"},
		{`{"do":"fail","arg":"it broke\u202e` + strings.Repeat("x", 200) + `"}`, `Failed: it broke\u202e` + strings.Repeat("x", 97) + "…"},
		{`{"do":"fault","arg":"` + b.root + `/a does not exist"}`, "Failed: a does not exist"},
		{`{"do":"say","path":"secret"}`, "Refused by policy: the deny rule Do(//**/secret) covers this call"},
		{`{"unknown":1}`, "Invalid input: unknown property \"unknown\""},
	} {
		resp, err := b.Run(t.Context(), b.request("Do", c.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Meta[metaSummary]; got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
	r := b.request("Do", `{"do":"say"}`)
	r.Unrun = true
	if resp, err := b.Run(t.Context(), r); err != nil || resp.Failed || resp.Meta != nil {
		t.Errorf("a call that is only decided: %+v, %v", resp, err)
	}
	if resp, err := b.Run(t.Context(), b.request("NoTool", `{}`)); err == nil || !errors.As(err, new(*tools.UnknownTool)) {
		t.Errorf("%v, %v", resp, err)
	}
}
