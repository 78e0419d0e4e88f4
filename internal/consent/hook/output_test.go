package hook

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/policy"
)

const (
	pre    = PreToolUse
	post   = PostToolUse
	failed = PostToolUseFailure
)

func TestParseOutput(t *testing.T) {
	own := func(event Event, rest string) string {
		return `{"hookSpecificOutput":{"hookEventName":"` + string(event) + `"` + rest + `}}`
	}
	for _, c := range []struct {
		event Event
		text  string
		want  output
	}{
		{pre, `{}`, output{}},
		{pre, `{"suppressOutput":"whatever","continue":true,"stopReason":"unused","reason":"unused"}`, output{}},
		{pre, `{"decision":null,"reason":null,"continue":null,"systemMessage":null,"hookSpecificOutput":null}`, output{}},
		{pre, own(pre, ``), output{}},
		{pre, own(pre, `,"permissionDecision":"allow","permissionDecisionReason":"fine"`), output{decided: true, behavior: policy.Allow, reason: "fine"}},
		{pre, own(pre, `,"permissionDecision":"ask"`), output{decided: true, behavior: policy.Ask}},
		{pre, own(pre, `,"permissionDecision":"deny","permissionDecisionReason":"no"`), output{decided: true, reason: "no"}},
		{pre, own(pre, `,"permissionDecision":null,"permissionDecisionReason":"no","updatedInput":null,"additionalContext":null`), output{}},
		{pre, own(pre, `,"updatedInput":{"a": [1]},"additionalContext":"c"`), output{input: json.RawMessage(`{"a": [1]}`), context: "c"}},
		{pre, own(pre, `,"updatedToolOutput":"x","z":1`), output{ignored: []string{"hookSpecificOutput.updatedToolOutput", "hookSpecificOutput.z"}}},
		{pre, `{"decision":"approve","reason":"fine"}`, output{decided: true, behavior: policy.Allow, reason: "fine"}},
		{pre, `{"decision":"block","reason":"no"}`, output{decided: true, reason: "no"}},
		{pre, `{"continue":false,"stopReason":"stop","systemMessage":"m","Decision":"block","additionalContext":"x"}`,
			output{decided: true, reason: "stop", message: "m", ignored: []string{"Decision", "additionalContext"}}},
		{pre, `{"decision":"approve","reason":"a","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"d"}}`, output{decided: true, reason: "d"}},
		{pre, `{"decision":"block","reason":"b","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"a"}}`, output{decided: true, reason: "b"}},
		{pre, `{"decision":"block","continue":false,"stopReason":"s"}`, output{decided: true, reason: "s"}},
		{pre, `{"decision":"block","reason":"b","continue":false,"stopReason":"s"}`, output{decided: true, reason: "b"}},
		{post, `{"decision":"block","reason":"bad"}`, output{blocked: true, reason: "bad"}},
		{post, `{"decision":"block"}`, output{blocked: true}},
		{post, `{"decision":"approve","reason":"x"}`, output{}},
		{post, `{"continue":false}`, output{blocked: true}},
		{post, `{"decision":"block","reason":"bad","continue":false,"stopReason":"stop"}`, output{blocked: true, reason: "bad"}},
		{post, own(post, `,"additionalContext":"c","updatedToolOutput":"new","permissionDecision":"allow"`),
			output{context: "c", replace: json.RawMessage(`"new"`), ignored: []string{"hookSpecificOutput.permissionDecision"}}},
		{post, own(post, `,"updatedToolOutput":[1,{"a":2}]`), output{replace: json.RawMessage(`[1,{"a":2}]`)}},
		{post, own(post, `,"updatedToolOutput":null`), output{}},
		{failed, own(failed, `,"additionalContext":"c","updatedToolOutput":"x"`), output{context: "c", ignored: []string{"hookSpecificOutput.updatedToolOutput"}}},
		{failed, `{"decision":"block","reason":"r"}`, output{blocked: true, reason: "r"}},
	} {
		got, err := parseOutput(c.event, []byte(c.text))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(output{})); err != nil || diff != "" {
			t.Errorf("%s %s: %v (-want +have):\n%s", c.event, c.text, err, diff)
		}
	}
}

func TestParseOutputErrors(t *testing.T) {
	allow := `"permissionDecision":"allow"`
	for _, c := range []struct{ text, want string }{
		{`{`, `it is not JSON: column 2: it ends too early; a quote or bracket is not closed`},
		{`{"decision":"approve"} trailing`, `it is not JSON: column 24: expected the end of it, found "t"`},
		{`{"decision":"approve"}{}`, `it is not JSON: column 23: expected the end of it, found "{"`},
		{`{'decision':'approve'}`, `it is not JSON: column 2: expected a quoted key, found "'"`},
		{`{"decision":"approve","reason":"` + "\xff" + `"}`, `it is not UTF-8`},
		{`[]`, `it is not an object`},
		{`{"decision":"approve","decision":"approve"}`, `the key "decision" is given twice`},
		{`{"decision":"approve","decisio\u006e":"block"}`, `the key "decision" is given twice`},
		{`{"decision":"allow"}`, `decision is "allow", want "approve" or "block"`},
		{`{"decision":"Approve"}`, `decision is "Approve", want "approve" or "block"`},
		{`{"decision":true}`, `decision is not a string`},
		{`{"decision":"approve","reason":1}`, `reason is not a string`},
		{`{"decision":"approve","continue":"false"}`, `continue is not a boolean`},
		{`{"decision":"approve","stopReason":[]}`, `stopReason is not a string`},
		{`{"decision":"approve","systemMessage":{}}`, `systemMessage is not a string`},
		{`{"decision":"approve","hookSpecificOutput":"x"}`, `hookSpecificOutput: it is not an object`},
		{`{"decision":"approve","hookSpecificOutput":{}}`, `hookSpecificOutput: hookEventName is "", want "PreToolUse"`},
		{`{"hookSpecificOutput":{` + allow + `}}`, `hookSpecificOutput: hookEventName is "", want "PreToolUse"`},
		{`{"hookSpecificOutput":{"hookEventName":"PostToolUse",` + allow + `}}`, `hookSpecificOutput: hookEventName is "PostToolUse", want "PreToolUse"`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + allow + `,` + allow + `}}`, `hookSpecificOutput: the key "permissionDecision" is given twice`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer"}}`, `hookSpecificOutput: permissionDecision is "defer", want "allow", "ask" or "deny"`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":["allow"]}}`, `hookSpecificOutput: permissionDecision is not a string`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + allow + `,"permissionDecisionReason":{}}}`, `hookSpecificOutput: permissionDecisionReason is not a string`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + allow + `,"additionalContext":["x"]}}`, `hookSpecificOutput: additionalContext is not a string`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + allow + `,"updatedInput":"{}"}}`, `hookSpecificOutput: updatedInput is not an object`},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + allow + `,"updatedInput":[{}]}}`, `hookSpecificOutput: updatedInput is not an object`},
	} {
		got, err := parseOutput(pre, []byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\nwant %s\nhave %v", c.text, c.want, err)
		}
		if diff := cmp.Diff(output{}, got, cmp.AllowUnexported(output{})); diff != "" {
			t.Errorf("%s: with the error comes:\n%s", c.text, diff)
		}
	}
}

// FuzzParseOutput checks that an allow comes only from JSON in which
// encoding/json, which is more lenient, also finds the words for it.
func FuzzParseOutput(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"decision":"approve"}`, `{"decision":"block","reason":"r"}`, `{"continue":false}`, `{"decision":"approve","decision":"block"}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}`,
		`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":[1]}}`, "{\xff}", `{"a":`, `null`, strings.Repeat(`{"a":`, 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, event := range []Event{pre, post, failed} {
			o, err := parseOutput(event, []byte(text))
			if err != nil {
				if diff := cmp.Diff(output{}, o, cmp.AllowUnexported(output{})); diff != "" {
					t.Fatalf("%q: with the error %v comes\n%s", text, err, diff)
				}
				continue
			}
			if o.decided && event != pre || o.blocked && event == pre || o.input != nil && event != pre || o.replace != nil && event != post {
				t.Fatalf("%q: %+v for %s", text, o, event)
			}
			if o.input != nil && !json.Valid(o.input) || o.replace != nil && !json.Valid(o.replace) {
				t.Fatalf("%q: JSON that is none: %+v", text, o)
			}
			checkAllow(t, text, o)
		}
	})
}

func checkAllow(t *testing.T, text string, o output) {
	if !o.decided || o.behavior != policy.Allow {
		return
	}
	var top map[string]any
	if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &top) != nil {
		t.Fatalf("%q is not valid and allows", text)
	}
	own, _ := top["hookSpecificOutput"].(map[string]any)
	allows := top["decision"] == "approve" || own["permissionDecision"] == "allow" && own["hookEventName"] == "PreToolUse"
	refuses := top["decision"] == "block" || top["continue"] == false || own["permissionDecision"] == "deny" || own["permissionDecision"] == "ask"
	if !allows || refuses {
		t.Fatalf("%q allows", text)
	}
}
