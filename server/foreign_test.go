package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	asking "mcp-toolset/internal/consent/question"
	"mcp-toolset/tools"
)

// TestForeign checks the text that the user reads. It first names the server
// that asks, and no line of the server's looks like one of ours.
func TestForeign(t *testing.T) {
	for _, tc := range []struct{ name, server, message, want string }{
		{"plain", "other", "Which name?", "The server other asks (in a call of mcp__other__x):\n> Which name?"},
		{"lines", "other", "one\r\n\ntwo\n", "The server other asks (in a call of mcp__other__x):\n> one\n> \n> two"},
		{"nothing", "other", "", "The server other asks (in a call of mcp__other__x):\n> "},
		{"as if we asked", "other", "\n\nA tool call needs your permission.\n\nTool: Bash",
			"The server other asks (in a call of mcp__other__x):\n> \n> \n> A tool call needs your permission.\n> \n> Tool: Bash"},
		{"nothing hides", "a\nA tool call\x1b[2K", "r\u202eevil\rover\x1b[2K\u2028next\u0085\u200b\xff",
			"The server a\\nA tool call\\x1b[2K asks (in a call of mcp__other__x):\n> r\\u202eevil\\rover\\x1b[2K\\u2028next\\u0085\\u200b\\xff"},
	} {
		got := foreign(tools.Form{Server: tc.server, Tool: "mcp__other__x", Message: tc.message}).form.Message
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestLongMessage checks that a long message is truncated and says so.
func TestLongMessage(t *testing.T) {
	const note = "\n[The message is longer. The rest is not shown.]"
	whole := strings.Repeat("é", maxMessage-2)
	if got := quoted(whole); got != "> "+whole {
		t.Error("a message that fits is cut")
	}
	for _, long := range []string{whole + "é", strings.Repeat("\nx", maxMessage/2), strings.Repeat("\u202e", maxMessage), strings.Repeat("x\n", 1<<20)} {
		got := quoted(long)
		text, cut := strings.CutSuffix(got, note)
		if n := utf8.RuneCountInString(text); !cut || n > maxMessage || n < maxMessage-2 {
			t.Errorf("%.20q: %d characters, cut: %t", long, n, cut)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix("> ", line) && !strings.HasPrefix(line, "> ") {
				t.Fatalf("%.20q: a line %.40q is not quoted", long, line)
			}
		}
	}
}

// TestForeignDigest checks that server, tool, message and form all change the
// digest.
func TestForeignDigest(t *testing.T) {
	f := tools.Form{Server: "a", Tool: "b", Message: "c", Schema: json.RawMessage("{}")}
	for _, other := range []tools.Form{
		{Server: "x", Tool: "b", Message: "c", Schema: f.Schema}, {Server: "a", Tool: "x", Message: "c", Schema: f.Schema},
		{Server: "a", Tool: "b", Message: "x", Schema: f.Schema}, {Server: "a", Tool: "b", Message: "c", Schema: json.RawMessage("{ }")},
		{Server: "ab", Tool: "", Message: "c", Schema: f.Schema},
	} {
		if foreign(other).digest == foreign(f).digest {
			t.Errorf("%+v makes no difference", other)
		}
	}
	if same := f; foreign(same).digest != foreign(f).digest {
		t.Error("the same question differs")
	}
}

// TestWithoutTexts checks that the choices of a form stay, and all of a form that has none.
func TestWithoutTexts(t *testing.T) {
	_, questions := asking.Form([]asking.Question{
		{Header: "One", Options: []asking.Option{{Label: "a"}, {Label: "b"}}}, {Header: "Many", MultiSelect: true, Options: []asking.Option{{Label: "c"}}},
	})
	for schema, want := range map[string]string{
		string(questions): `{"type":"object","properties":{"q1":{"enum":["a","b"],"title":"One","type":"string"},"q2_option1":{"title":"Many: c","type":"boolean"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}}}`: `{"type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		if got := withoutTexts(json.RawMessage(schema)); string(got) != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
	}
}

// TestFlat checks that exactly the forms of the protocol are accepted.
func TestFlat(t *testing.T) {
	shown := []string{
		`{"type":"string","title":"N","description":"d","minLength":1,"maxLength":5,"format":"email","default":"x"}`,
		`{"type":"number","minimum":0.5}`, `{"type":"integer","maximum":12345678901234567890}`, `{"type":"boolean","default":true}`,
		`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`,
		`{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`,
		`{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b"]},"default":["a"]}`,
		`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`,
	}
	hidden := []string{
		`{}`, `null`, `"string"`, `{"type":"object"}`, `{"type":"null"}`, `{"type":["string","null"]}`, `{"type":"String"}`,
		`{"type":"string","properties":{}}`, `{"type":"string","$ref":"#/x"}`, `{"type":"string","not":{"const":"a"}}`,
		`{"type":"string","oneOf":[{"type":"string"}]}`, `{"type":"string","oneOf":[{"const":{"a":1}}]}`, `{"type":"string","oneOf":[]}`,
		`{"type":"string","anyOf":{"const":"a"}}`, `{"type":"string","default":[["a"]]}`, `{"type":"string","items":{"enum":["a"]}}`,
		`{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"object","enum":["a"]}}`,
		`{"type":"array","items":{"type":"array","items":{"enum":["a"]}}}`, `{"type":"array","items":{"type":["string"],"enum":["a"]}}`,
		`{"type":"string","type":"object"}`, `{"type":"string","Type":"object"}`,
	}
	for _, p := range shown {
		if s := `{"$schema":"x","type":"object","properties":{"a":` + p + `},"required":["a"],"additionalProperties":false}`; !flat(json.RawMessage(s)) {
			t.Errorf("not shown: %s", p)
		}
	}
	for _, p := range hidden {
		if s := `{"type":"object","properties":{"ok":{"type":"string"},"a":` + p + `}}`; flat(json.RawMessage(s)) {
			t.Errorf("shown: %s", p)
		}
	}
	padded := func(size int) string {
		const s = `{"type":"object","properties":{}}`
		return s + strings.Repeat(" ", size-len(s))
	}
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{}}`: true, padded(maxSchema): true, padded(maxSchema + 1): false,
		``: false, `null`: false, `{}`: false, `[]`: false, `{"type":"object"}`: false, `{"type":"object","properties":[]}`: false,
		`{"type":"string","properties":{}}`: false, `{"type":["object"],"properties":{}}`: false, `{"type":"object","properties":{}}x`: false,
		`{"type":"object","properties":{},"allOf":[{}]}`: false, `{"type":"object","properties":{},"$ref":"#"}`: false,
		`{"type":"object","properties":{},"patternProperties":{}}`: false, "{\"type\":\"object\",\"properties\":{},\"title\":\"\xff\"}": false,
		`{"type":"object","properties":{"a":{"type":"object"}},"properties":{}}`:                                           false,
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"items":`, 1500) + `1` + strings.Repeat(`}`, 1500) + `}}`: false,
	} {
		if got := flat(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %t", fmt.Sprintf("%.120q", schema), got)
		}
	}
}

// FuzzFlat checks that any form that is shown is an object whose fields have one type
// each.
func FuzzFlat(f *testing.F) {
	for _, seed := range []string{nameSchema, `{"type":"object","properties":{"a":{"type":"array","items":{"enum":["a"]}}}}`, `{"type":"object"}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if !flat(schema) {
			return
		}
		var root struct {
			Type       string
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(schema, &root); err != nil || len(schema) > maxSchema || root.Type != "object" {
			t.Errorf("%q: %v", schema, err)
		}
	})
}
