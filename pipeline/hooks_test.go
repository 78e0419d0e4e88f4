package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
)

// hooks uses a function as the hooks of an event on a tool.
func (b *bench) hooks(t *testing.T, f func(hook.Event, hook.Input) hook.Verdict, events ...string) {
	t.Helper()
	all := map[string]any{}
	for _, event := range events {
		all[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "stand-in"}}}}
	}
	data, err := json.Marshal(map[string]any{"hooks": all})
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Parse(data, "/etc/hooks.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	b.rules.Load().Hooks = s.Hooks()
	b.rules.Load().RunHooks = func(_ context.Context, event hook.Event, _ []hook.Hook, in hook.Input) hook.Verdict {
		return f(event, in)
	}
}

// hookAfter uses a function as the hook after calls of a tool.
func (b *bench) hookAfter(t *testing.T, tool string, f func(hook.Input) hook.Verdict) {
	t.Helper()
	b.hooks(t, func(_ hook.Event, in hook.Input) hook.Verdict {
		if in.Tool != tool {
			return hook.Verdict{}
		}
		return f(in)
	}, "PostToolUse")
}

func TestHooks(t *testing.T) {
	refuse := hook.Verdict{Decided: true, Behavior: policy.Deny, Reason: "not on Fridays", By: "./guard", Next: "wait"}
	for name, tc := range map[string]struct {
		event   string
		verdict hook.Verdict
		rules   string
		args    string
		want    string
	}{
		"deny":          {"PreToolUse", refuse, `{"allow":["Do"]}`, `{"do":"x","arg":"done"}`, "failed: Do: refused by policy: the hook ./guard decided deny: not on Fridays. Wait."},
		"ask":           {"PreToolUse", hook.Verdict{Decided: true, Behavior: policy.Ask, By: "./guard"}, `{"allow":["Do"]}`, `{"do":"x","arg":"done"}`, "failed: Do: refused by policy: the hook ./guard decided ask, and the user cannot be asked here. Do what the hook asks for, or ask the user to change the hook."},
		"allow":         {"PreToolUse", hook.Verdict{Decided: true, Behavior: policy.Allow, By: "./guard"}, `{}`, `{"do":"x","arg":"done","path":"/outside"}`, "done"},
		"deny rule":     {"PreToolUse", hook.Verdict{Decided: true, Behavior: policy.Allow, By: "./guard"}, `{"deny":["Do(a)"]}`, `{"do":"x","path":"a"}`, "failed: Do: refused by policy: the deny rule Do(a) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		"ask rule":      {"PreToolUse", hook.Verdict{Decided: true, Behavior: policy.Allow, By: "./guard"}, `{"ask":["Do"]}`, `{"do":"x"}`, "failed: Do: refused by policy: the ask rule Do covers every call of Do, and the user cannot be asked here. The user can change the rule in /etc/test.json:1."},
		"input":         {"PreToolUse", hook.Verdict{UpdatedInput: json.RawMessage(`{"do":"x","arg":"other"}`)}, `{}`, `{"do":"x","arg":"done"}`, "other"},
		"judged again":  {"PreToolUse", hook.Verdict{UpdatedInput: json.RawMessage(`{"do":"x","path":"a"}`)}, `{"deny":["Do(a)"]}`, `{"do":"x"}`, "failed: Do: refused by policy: the deny rule Do(a) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1."},
		"malformed":     {"PreToolUse", hook.Verdict{UpdatedInput: json.RawMessage(`{"du":"x"}`)}, `{}`, `{"do":"x"}`, `failed: Do: invalid input: a hook changed the input, and now: unknown property "du". Ask the user to correct the hook.`},
		"invalid":       {"PreToolUse", hook.Verdict{UpdatedInput: json.RawMessage(`{"do":"invalid"}`)}, `{}`, `{"do":"x"}`, `failed: Do: invalid input: a hook changed the input, and now: do is invalid. Ask the user to correct the hook.`},
		"context":       {"PreToolUse", hook.Verdict{Context: []string{"mind the gap"}}, `{}`, `{"do":"x","arg":"done"}`, "done\nmind the gap"},
		"failure":       {"PreToolUse", hook.Verdict{Failures: []hook.Failure{{Command: "./guard", Reason: "did not end within 1s"}}}, `{}`, `{"do":"x","arg":"done"}`, "done\n[The hook ./guard did not end within 1s.]"},
		"also refused":  {"PreToolUse", hook.Verdict{Context: []string{"mind the gap"}}, `{"deny":["Do(a)"]}`, `{"do":"x","path":"a"}`, "failed: Do: refused by policy: the deny rule Do(a) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1.\nmind the gap"},
		"block":         {"PostToolUse", hook.Verdict{Block: "the tests fail", By: "./test"}, `{}`, `{"do":"x","arg":"done"}`, "done\nA hook objects: the tests fail"},
		"replace":       {"PostToolUse", hook.Verdict{Replace: json.RawMessage(`"[cut]"`)}, `{}`, `{"do":"x","arg":"done"}`, "[cut]"},
		"replace, JSON": {"PostToolUse", hook.Verdict{Replace: json.RawMessage(`{"a":1}`)}, `{}`, `{"do":"x","arg":"done"}`, `{"a":1}`},
		"after":         {"PostToolUse", hook.Verdict{Context: []string{"formatted"}}, `{}`, `{"do":"x","arg":"done"}`, "done\nformatted"},
		"not after":     {"PostToolUse", hook.Verdict{Context: []string{"formatted"}}, `{}`, `{"do":"fail","arg":"broken"}`, "failed: Do: failed: broken"},
		"after failure": {"PostToolUseFailure", hook.Verdict{Context: []string{"look there"}}, `{}`, `{"do":"fail","arg":"broken"}`, "failed: Do: failed: broken\nlook there"},
		"no failure":    {"PostToolUseFailure", hook.Verdict{Context: []string{"look there"}}, `{}`, `{"do":"x","arg":"done"}`, "done"},
		"none when bad": {"PreToolUse", hook.Verdict{Context: []string{"never"}}, `{}`, `{"du":"x"}`, `failed: Do: invalid input: unknown property "du". Did you mean "do"? Known properties: do, arg, path.`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `{"permissions":`+tc.rules+`}`)
			runs := 0
			b.hooks(t, func(event hook.Event, in hook.Input) hook.Verdict {
				runs++
				if string(event) != tc.event || in.Tool != "Do" || in.Dir != b.root || in.PermissionMode != "default" || in.SessionID == "" || in.ToolUseID == "" {
					t.Errorf("%s: %+v", event, in)
				}
				return tc.verdict
			}, tc.event)
			if got := b.run(t, t.Context(), "Do", tc.args); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if runs > 1 {
				t.Errorf("the hooks ran %d times", runs)
			}
		})
	}
}

// TestHooksSeeAll checks that a hook gets the completed input, and the result
// before it is truncated.
func TestHooksSeeAll(t *testing.T) {
	b := newBench(t, "{}")
	var ins []hook.Input
	b.hooks(t, func(_ hook.Event, in hook.Input) hook.Verdict {
		ins = append(ins, in)
		return hook.Verdict{}
	}, "PreToolUse", "PostToolUse")
	long := strings.Repeat("long line\n", 400)
	args, err := json.Marshal(map[string]string{"do": "x", "arg": long})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.run(t, t.Context(), "Head", string(args)); !strings.Contains(got, "left out of") {
		t.Errorf("the result is not cut: %.300s", got)
	}
	if len(ins) != 2 || !strings.Contains(string(ins[1].Response), `long line\n`) || len(ins[1].Response) < len(long) || ins[0].Response != nil {
		t.Errorf("%d inputs, %+v", len(ins), ins)
	}
	if got := b.run(t, t.Context(), "Read", `{"file_path":"a.txt"}`); !strings.HasPrefix(got, "failed") {
		t.Error(got)
	}
	if in := ins[2]; string(in.ToolInput) != `{"file_path":"`+b.root+`/a.txt"}` {
		t.Errorf("the path is not absolute: %s", in.ToolInput)
	}
}
