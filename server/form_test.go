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
			Tool: "Bash", Title: "Run rm -rf build", Subject: "rm -rf build", Dir: "/w", Reason: "rule Bash(rm *) asks", Input: json.RawMessage(`{"command":"rm -rf build","timeout":1}`),
		}, `Bash: rm -rf build
asks because: rule Bash(rm *) asks
accepting: this call once
In: /w
Described as: Run rm -rf build
Input:
{
  "command": "rm -rf build",
  "timeout": 1
}`},
		{"what it opens", pipeline.Question{
			Tool: "Bash", Title: "List the files", Subject: "cp -r . /srv/backup && rm -rf /srv/old", Reason: "/srv/backup is outside the workspace", Opens: "writing /srv/backup and /srv/old", Input: json.RawMessage(`{}`),
		}, `Bash: cp -r . /srv/backup && rm -rf /srv/old
asks because: /srv/backup is outside the workspace
accepting: opens the sandbox for writing /srv/backup and /srv/old; this call once
Described as: List the files
Input:
{}`},
		{"the part of a long command that needs it", pipeline.Question{
			Tool: "Bash", Subject: strings.Repeat("echo one; ", 20) + "rm -rf /srv/old", Part: "rm -rf /srv/old", Reason: strings.Repeat("r", 120), Opens: "writing " + strings.Repeat("o", 120), Input: json.RawMessage(`{}`),
		}, `Bash: … rm -rf /srv/old … in 215 characters: ` + strings.Repeat("echo one; ", 6) + `echo…
asks because: ` + strings.Repeat("r", 13) + "…" + strings.Repeat("r", 27) + `
accepting: opens the sandbox for writing ` + strings.Repeat("o", 8) + "…" + strings.Repeat("o", 14) + `; this call once
The whole reason: ` + strings.Repeat("r", 120) + `
It opens the sandbox for writing ` + strings.Repeat("o", 120) + `
Input:
{}`},
		{"a long command", pipeline.Question{
			Tool: "Bash", Subject: strings.Repeat("x", 200), Input: json.RawMessage(`{}`),
		}, `Bash: ` + strings.Repeat("x", 81) + `… (+119 characters)
asks because: it was not allowed before
accepting: this call once
Input:
{}`},
		{"a path with a long folder", pipeline.Question{
			Tool: "Write", Subject: "/home/you/projects/of/last/year/and/this/.ssh/authorized_keys", Reason: "/home/you/projects/of/last/year/and/this/.ssh/authorized_keys is outside the workspace", Input: json.RawMessage(`{}`),
		}, `Write: authorized_keys in /home/you/projects/of/last/year/and/this/.ssh/
asks because: /home/yo…authorized_keys is outside the workspace
accepting: this call once
The whole reason: /home/you/projects/of/last/year/and/this/.ssh/authorized_keys is outside the workspace
Input:
{}`},
		{"a command that is no path", pipeline.Question{Tool: "Bash", Subject: "/bin/echo;" + strings.Repeat("rm;", 20), Input: json.RawMessage(`{}`)}, `Bash: /bin/echo;` + strings.Repeat("rm;", 20) + `
asks because: it was not allowed before
accepting: this call once
Input:
{}`},
		{"always on offer", pipeline.Question{Tool: "Bash", Input: json.RawMessage(`{}`), Always: "rm -rf build"}, `Bash: {}
asks because: it was not allowed before
accepting: this call once
Input:
{}

"always" also allows rm -rf build`},
		{"more calls of the session", pipeline.Question{
			Tool: "WebFetch", Subject: "https://a.example/x", Input: json.RawMessage(`{}`), Further: "further calls of WebFetch to a.example", Always: "future calls of WebFetch to a.example in this workspace",
		}, `WebFetch: https://a.example/x
asks because: it was not allowed before
accepting: this call and, in this session, further calls of WebFetch to a.example
Input:
{}

"always" also allows future calls of WebFetch to a.example in this workspace`},
		{"HTML as it is", pipeline.Question{
			Tool: "T", Input: json.RawMessage(`{"command":"a \u0026\u0026 b \u003c c \u003E d \\u003c \\\u003c \u00e9"}`),
		}, `T: {"command":"a && b < c > d \\u003c \\< \u00e9"}
asks because: it was not allowed before
accepting: this call once
Input:
{
  "command": "a && b < c > d \\u003c \\< \u00e9"
}`},
		{"nothing hides", pipeline.Question{
			Tool: "B\x1b[2Kash", Subject: "x\naccepting: nothing\u202e", Title: "x\nasks because: no reason", Reason: "r\u202eevil", Always: "y\r\nz\u200b",
			Input: json.RawMessage("{\"a\u202e\":\"\u2028\\n\u00a0\x7f\xff\U000e0041\"}"),
		}, `B\x1b[2Kash: x\naccepting: nothing\u202e
asks because: r\u202eevil
accepting: this call once
Described as: x\nasks because: no reason
Input:
{
  "a\u202e": "\u2028\n\u00a0\x7f\xff\U000e0041"
}

"always" also allows y\r\nz\u200b`},
		{"a preview instead of the input", pipeline.Question{
			Tool: "Write", Subject: "/etc/hosts", Input: json.RawMessage(`{"content":"b"}`), Always: "future changes to /etc/hosts in this workspace",
			Preview: tools.Preview{Text: "/etc/hosts, what changes:\n-\ta\x1b\u202e\n+b\n"},
		}, `Write: /etc/hosts
asks because: it was not allowed before
accepting: this call once
Change:
/etc/hosts, what changes:
-	a\x1b\u202e
+b

"always" also allows future changes to /etc/hosts in this workspace`},
		{"a preview that leaves something out", pipeline.Question{
			Tool: "Write", Input: json.RawMessage(`{}`), Preview: tools.Preview{Text: "+b", Partial: true},
		}, `Write: {}
asks because: it was not allowed before
accepting: this call once
Caution: not all of the change is shown. The SHA-256 of the whole input is 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a.
Change:
+b`},
		{"no JSON", pipeline.Question{Tool: "T", Input: json.RawMessage("x\ny")}, `T: x\ny
asks because: it was not allowed before
accepting: this call once
Input:
x\ny`},
	} {
		got := form(tc.q).Message
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		for _, line := range strings.Split(got, "\n")[:3] {
			if utf8.RuneCountInString(line) > 110 {
				t.Errorf("%s: a line of %d characters: %s", tc.name, utf8.RuneCountInString(line), line)
			}
		}
	}
	for always, want := range map[string]string{
		"":  `{"message":"","requestedSchema":{"properties":{},"type":"object"}}`,
		"x": `{"message":"","requestedSchema":{"properties":{"remember":{"description":"\"once\" allows what accepting allows, \"always\" also what the message names for it.","enum":["once","always"],"title":"Remember","type":"string"}},"type":"object"}}`,
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
		caution := fmt.Sprintf("\nCaution: the input is long, and %d characters from its middle are not shown. The SHA-256 of all of it is %s.\nInput:\n{\n", more, sum)
		if !strings.Contains(text, caution) || !strings.Contains(text, fmt.Sprintf("é\n[%d characters not shown]\né", more)) || !strings.Contains(text, "é\"\n}") {
			t.Errorf("%d more: %.600s", more, text)
		}
		if n := strings.Count(text[strings.Index(text, "Input:"):], "é"); n != maxShown-len("{\n  \"a\": \"\"\n}") {
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
