package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/pipeline"
	"mcp-toolset/tools"
)

// TestForm checks the text that the user is shown, and the form as clients get
// it.
func TestForm(t *testing.T) {
	for _, tc := range []struct {
		name string
		q    pipeline.Question
		want string
	}{
		{"plain", pipeline.Question{
			Tool: "Bash", Title: "Run rm -rf build", Reason: "rule Bash(rm *) asks", Input: json.RawMessage(`{"command":"rm -rf build","timeout":1}`),
		}, `A tool call needs your permission.

Tool: Bash
What it does: Run rm -rf build
Why you are asked: rule Bash(rm *) asks

Input:
{
  "command": "rm -rf build",
  "timeout": 1
}

Accepting allows this call once.`},
		{"always on offer", pipeline.Question{Tool: "Bash", Input: json.RawMessage(`{}`), Always: "rm -rf build"}, `A tool call needs your permission.

Tool: Bash

Input:
{}

Accepting allows this call once. "always" also allows rm -rf build`},
		{"more for the session", pipeline.Question{
			Tool: "WebFetch", Input: json.RawMessage(`{}`), Session: "other calls of WebFetch to go.dev", Always: "future calls of WebFetch to go.dev in this workspace",
		}, `A tool call needs your permission.

Tool: WebFetch

Input:
{}

Accepting allows this call and, until the session ends, other calls of WebFetch to go.dev. "always" also allows future calls of WebFetch to go.dev in this workspace`},
		{"HTML as it is", pipeline.Question{
			Tool: "Bash", Input: json.RawMessage(`{"command":"a \u0026\u0026 b \u003c c \u003E d \\u003c \\\u003c \u00e9"}`),
		}, `A tool call needs your permission.

Tool: Bash

Input:
{
  "command": "a && b < c > d \\u003c \\< \u00e9"
}

Accepting allows this call once.`},
		{"nothing hides", pipeline.Question{
			Tool: "B\x1b[2Kash", Title: "x\nWhy you are asked: no reason", Reason: "r\u202eevil", Always: "y\r\nz\u200b",
			Input: json.RawMessage("{\"a\u202e\":\"\u2028\\n\u00a0\x7f\xff\U000e0041\"}"),
		}, `A tool call needs your permission.

Tool: B\x1b[2Kash
What it does: x\nWhy you are asked: no reason
Why you are asked: r\u202eevil

Input:
{
  "a\u202e": "\u2028\n\u00a0\x7f\xff\U000e0041"
}

Accepting allows this call once. "always" also allows y\r\nz\u200b`},
		{"a preview instead of the input", pipeline.Question{
			Tool: "Write", Input: json.RawMessage(`{"content":"b"}`), Always: "future changes to /etc/hosts in this workspace",
			Preview: tools.Preview{Text: "/etc/hosts, what changes:\n-\ta\x1b\u202e\n+b\n"},
		}, `A tool call needs your permission.

Tool: Write

Change:
/etc/hosts, what changes:
-	a\x1b\u202e
+b

Accepting allows this call once. "always" also allows future changes to /etc/hosts in this workspace`},
		{"a preview that leaves something out", pipeline.Question{
			Tool: "Write", Input: json.RawMessage(`{}`), Preview: tools.Preview{Text: "+b", Partial: true},
		}, `A tool call needs your permission.

Tool: Write

Caution: not all of the change is shown. The SHA-256 of the whole input is 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a.

Change:
+b

Accepting allows this call once.`},
		{"no JSON", pipeline.Question{Tool: "T", Input: json.RawMessage("x\ny")}, `A tool call needs your permission.

Tool: T

Input:
x\ny

Accepting allows this call once.`},
	} {
		if diff := cmp.Diff(tc.want, form(tc.q).Message); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	for always, want := range map[string]string{
		"":  `{"message":"","requestedSchema":{"properties":{},"type":"object"}}`,
		"x": `{"message":"","requestedSchema":{"properties":{"remember":{"description":"\"once\" allows this call only, \"always\" also what the message names.","enum":["once","always"],"title":"Remember","type":"string"}},"type":"object"}}`,
	} {
		f := form(pipeline.Question{Always: always})
		f.Message = ""
		got, err := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("the form is %s (%v)\nwant %s", got, err, want)
		}
	}
}

// TestLongForm checks that a truncated input is announced before it is shown,
// with the size of the missing part.
func TestLongForm(t *testing.T) {
	input := func(n int) json.RawMessage { // n characters as shown
		return json.RawMessage(`{"a":"` + strings.Repeat("é", n-len("{\n  \"a\": \"\"\n}")) + `"}`)
	}
	whole := formText(pipeline.Question{Input: input(maxShown)})
	if strings.Contains(whole, "Caution") || strings.Contains(whole, "not shown") || !strings.Contains(whole, "é\"\n}") {
		t.Error("an input that fits is cut")
	}
	for _, more := range []int{1, 123_456} {
		in := input(maxShown + more)
		text := formText(pipeline.Question{Input: in})
		sum := fmt.Sprintf("%x", sha256.Sum256(in))
		caution := fmt.Sprintf("\nCaution: the input is long, and %d characters from its middle are not shown. The SHA-256 of all of it is %s.\n\nInput:\n{\n", more, sum)
		if !strings.Contains(text, caution) || !strings.Contains(text, fmt.Sprintf("é\n[%d characters not shown]\né", more)) || !strings.Contains(text, "é\"\n}\n\nAccepting") {
			t.Errorf("%d more: %.600s", more, text)
		}
		if n := strings.Count(text, "é"); n != maxShown-len("{\n  \"a\": \"\"\n}") {
			t.Errorf("%d more: %d characters are shown", more, n)
		}
	}
	long := pipeline.Question{Tool: strings.Repeat("t", 1e5), Title: strings.Repeat("\u202e", 1e5), Reason: strings.Repeat("r", 1e5),
		Always: strings.Repeat("a", 1e5), Input: input(100_000)}
	if n := utf8.RuneCountInString(formText(long)); n > maxShown+3000 {
		t.Errorf("a form of %d characters", n)
	}
}

// FuzzReply checks that an answer allows only if it has one action, and that is "accept".
func FuzzReply(f *testing.F) {
	for _, seed := range []string{`{"action":"accept","content":{"remember":"always"}}`, `{"action":"decline"}`, `{"action":"cancel","content":null}`, `null`, ``, `[`, `{"action":"accept","ACTION":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		r := reply(pipeline.Question{Always: "x"}, result)
		if r.Allow != (r.How == pipeline.Accepted) || r.Always && !r.Allow {
			t.Errorf("%+v", r)
		}
		if !r.Allow {
			return
		}
		var m struct{ Action string }
		if err := json.Unmarshal(result, &m); err != nil || m.Action != "accept" {
			t.Errorf("%q allows (%v)", result, err)
		}
		if r.Always && !strings.Contains(string(result), `"always"`) {
			t.Errorf("%q allows for good", result)
		}
	})
}

// TestPermissionDigest checks that an answer is bound to what the user was
// shown, including the preview.
func TestPermissionDigest(t *testing.T) {
	q := pipeline.Question{Tool: "Write", Input: json.RawMessage(`{}`), Preview: tools.Preview{Text: "+a"}}
	before := permission(q).digest
	q.Preview.Text = "+b"
	if permission(q).digest == before {
		t.Error("another preview is the same question")
	}
}
