package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// explain explains a call and returns it in one line, with the paths of this
// test replaced.
func (b *bench) explain(t *testing.T, tool, args string) string {
	t.Helper()
	e := b.Explain(t.Context(), Request{Tool: tool, Arguments: json.RawMessage(args), Log: slog.New(slog.NewTextHandler(&b.log, nil))})
	if (e.Decision.Next == "") != (e.Decision.Behavior == policy.Allow) && e.Error == "" {
		t.Errorf("%s %s: %s with the next step %q", tool, args, e.Decision.Behavior, e.Decision.Next)
	}
	facts := ""
	if e.Facts.ReadOnly {
		facts += " read-only"
	}
	if e.Facts.ConcurrencySafe {
		facts += " safe"
	}
	text := fmt.Sprintf("%s: %s %s %q%s %q: %s", e.Tool, e.Decision.Behavior, e.Decision.Layer, e.Decision.Rule, facts, e.Commands, e.Decision.Reason)
	if e.Error != "" {
		text += " [" + e.Error + "]"
	}
	return strings.NewReplacer(b.root, "$ROOT", b.state, "$STATE").Replace(text)
}

func TestExplain(t *testing.T) {
	b := newBench(t, `{"permissions":{
		"deny":["Read(secret/**)","Gone","Ruled(say never)"],
		"ask":["Do(ask.txt)","Ruled(say please)"],
		"allow":["Ruled","Do(//elsewhere/**)"]}}`)
	if err := os.Symlink("loop", filepath.Join(b.root, "loop")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ tool, args, want string }{
		{"Do", `{"do":"x"}`, `Do: allow default "" []: no rule covers it`},
		{"Look", `{"do":"x"}`, `Look: allow read-only "" read-only safe []: it only reads, and no rule covers it`},
		{"Former", `{"do":"x"}`, `Look: allow read-only "" read-only safe []: it only reads, and no rule covers it`},
		{"Do", `{"do":"x","path":"ask.txt"}`, `Do: ask rule "Do(ask.txt)" []: the ask rule Do(ask.txt) covers this call`},
		{"Do", `{"do":"x","path":"/outside"}`, `Do: ask path "" []: /outside is outside the workspace roots ($ROOT)`},
		{"Read", `{"file_path":"secret/key"}`, `Read: deny rule "Read(secret/**)" read-only safe []: the deny rule Read(secret/**) covers $ROOT/secret/key`},
		{"Ruled", `{"do":"x","arg":"never"}`, `Ruled: deny rule "Ruled(say never)" ["x" "say never"]: the deny rule Ruled(say never) covers this call`},
		{"Ruled", `{"do":"x","arg":"please"}`, `Ruled: ask rule "Ruled(say please)" ["x" "say please"]: the ask rule Ruled(say please) covers this call`},
		{"Ruled", `{"do":"x","arg":"thanks"}`, `Ruled: allow rule "Ruled" ["x" "say thanks"]: an allow rule covers the call`},
		{"Strict", `{"do":"cd"}`, `Strict: deny tool "" []: Strict never moves`},
		{"Strict", `{"do":"doubt"}`, `Strict: ask tool "" []: Strict has doubts`},
		{"Gone", `{"do":"x"}`, `Gone: deny rule "Gone" read-only safe []: the deny rule Gone covers every call of Gone`},

		{"Doo", `{}`, `Doo: deny input "" []: there is no tool "Doo"; the nearest is Do [there is no tool "Doo"; the nearest is Do]`},
		{"Off", `{}`, `Off: deny input "" []: tool "Off" is not available: feature off is off`},
		{"Do", `{"du":"x"}`, `Do: deny input "" []: unknown property "du" [invalid input: unknown property "du". Did you mean "do"? Known properties: do, arg, path.]`},
		{"Do", `{"do":"x","do":"y"}`, `Do: deny input "" []: `},
		{"Do", `[1]`, `Do: deny input "" []: `},
		{"Look", `{"do":"invalid"}`, `Look: deny input "" []: do is invalid [invalid input: do is invalid. Do something else.]`},
		{"Do", `{"do":"x","path":"loop"}`, `Do: deny input "" []: the path cannot be followed`},
		{"Look", `{"do":"panic early","arg":"early detail"}`, `Look: deny tool "" []: the tool stopped on an internal error`},
	} {
		if got := b.explain(t, tc.tool, tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.tool, tc.args, got, tc.want)
		}
	}
	if log := b.log.String(); strings.Count(log, "a tool panicked") != 1 || !strings.Contains(log, "early detail") {
		t.Errorf("the log does not have the panic: %s", log)
	}
}

// TestExplainAgreesWithRun checks that exactly the calls explained as allowed
// run, and that Explain runs nothing.
func TestExplainAgreesWithRun(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Read(secret/**)","Ruled(say never)"],"ask":["Do(ask.txt)"],"allow":["Strict"]}}`)
	if err := os.Mkdir(filepath.Join(b.root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	allowed := 0
	for _, tool := range []string{"Do", "Look", "Ruled", "Strict", "Finisher"} {
		for _, args := range []string{
			`{"do":"x"}`, `{"do":"cd","arg":"sub"}`, `{"do":"doubt","arg":"never"}`, `{"do":"x","path":"ask.txt"}`,
			`{"do":"x","path":"secret/a"}`, `{"do":"x","path":"/"}`, `{"do":"invalid"}`, `{}`, `{"do":"panic early"}`,
		} {
			before := b.session.View().Dir
			e := b.Explain(t.Context(), b.requestIn(tool, args))
			if after := b.session.View().Dir; after != before {
				t.Fatalf("explaining %s %s moved the session to %s", tool, args, after)
			}
			got := b.run(t, t.Context(), tool, args)
			if (e.Decision.Behavior == policy.Allow) == strings.HasPrefix(got, "failed: ") {
				t.Errorf("%s %s is explained as %s by %s, and run: %s", tool, args, e.Decision.Behavior, e.Decision.Layer, got)
			}
			if e.Decision.Behavior == policy.Allow {
				allowed++
			}
		}
	}
	if allowed == 0 || allowed == 45 {
		t.Errorf("%d of 45 calls are allowed", allowed)
	}
}

// requestIn returns a request in the session of the test, without a place in its lane.
func (b *bench) requestIn(tool, args string) Request {
	return Request{Tool: tool, Arguments: json.RawMessage(args), Session: b.session, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))}
}
