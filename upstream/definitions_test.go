package upstream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-toolset/tools"
)

// TestDefinitions checks that definitions are passed on as sent, under names
// that models accept.
func TestDefinitions(t *testing.T) {
	long := strings.Repeat("long_name_", 9)
	list := []string{
		`{"name":"plain","title":"T\u001b[1m","description":"line one\r\n\tline\u202e two\n","inputSchema":{"type":"object","$defs":{"a":{"x-odd":[1.50,12345678901234567890]}},"properties":{"p":{"$ref":"#/$defs/a"}},"x-mcp-header":"h"},"outputSchema":{"type":"object","z":1},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"title":"no"}}`,
		`{"name":"none"}`,
		`{"name":"nulls","description":null,"title":null,"inputSchema":null,"outputSchema":null,"annotations":{"title":"from annotations"}}`,
		`{"name":"odd.name/with spaces?","inputSchema":{"type":"object"}}`,
		`{"name":"odd_name_with_spaces_","inputSchema":{"type":"object"}}`,
		`{"name":"odd-name","inputSchema":{"type":"object"}}`,
		fmt.Sprintf(`{"name":%q}`, long+"a"), fmt.Sprintf(`{"name":%q}`, long+"b"),
		`{"name":"é漢字"}`,
		`{"name":"array","inputSchema":{"type":"array"}}`,
		`{"name":"plain","description":"twice"}`,
		`{"name":""}`, `{}`, `7`, `{"name":5}`,
		fmt.Sprintf(`{"name":"wordy","description":%q}`, strings.Repeat("漢", 1000)),
		fmt.Sprintf(`{"name":"exact","description":%q}`, strings.Repeat("x", tools.MaxPrompt)),
	}
	m := New(Config{})
	s := newServer(m, Server{Name: "my server", Prefix: "my_server"})
	raw := make([]json.RawMessage, len(list))
	for i, d := range list {
		raw[i] = json.RawMessage(d)
	}
	s.apply(raw, nil)
	var out []string
	for _, tool := range s.tools {
		in, _ := tool.InputSchema()
		res, _ := tool.OutputSchema()
		said, _ := json.Marshal(tool.Declared)
		prompt := tool.Prompt
		if len(prompt) > 200 {
			prompt = fmt.Sprintf("%d bytes that end in %s", len(prompt), prompt[len(prompt)-20:])
		}
		out = append(out, fmt.Sprintf("%s (%s): title %q, %q\n  in %s out %s said %s %s", tool.Name, strings.ToValidUTF8(tool.name, "?"), tool.Title, prompt, in, res, said, tool.Loading))
		if len(tool.Name) > maxName || len(tool.Prompt) > tools.MaxPrompt {
			t.Errorf("%s is too long", tool.Name)
		}
	}
	golden(t, "definitions", out)

	// The order of a listing has no effect.
	before := fmt.Sprint(names(s))
	for i, j := 0, len(raw)-1; i < j; i, j = i+1, j-1 {
		raw[i], raw[j] = raw[j], raw[i]
	}
	again := newServer(m, s.Server)
	again.apply(raw, nil)
	if after := fmt.Sprint(names(again)); after != before {
		t.Errorf("%s\n%s", before, after)
	}
	always := newServer(m, Server{Name: "x", Prefix: "x", Always: true})
	always.apply(raw[:3], nil)
	for _, tool := range always.tools {
		if tool.Loading != tools.LoadAlways {
			t.Errorf("%s is loaded %s", tool.Name, tool.Loading)
		}
	}
}

func names(s *server) (out []string) {
	for _, tool := range s.tools {
		out = append(out, tool.Name+"="+tool.name)
	}
	return out
}

// TestRenamed checks that a tool with a new name on the server is a different
// tool, even if models use the same name for it.
func TestRenamed(t *testing.T) {
	s := newServer(New(Config{}), Server{Name: "x", Prefix: "x"})
	s.apply([]json.RawMessage{json.RawMessage(`{"name":"a.b","description":"d"}`)}, nil)
	before := s.tools[0]
	s.apply([]json.RawMessage{json.RawMessage(`{"name":"a/b","description":"d"}`)}, nil)
	if after := s.tools[0]; after.Tool == before.Tool || after.Name != before.Name {
		t.Errorf("%s is still %s", after.Name, before.name)
	}
	for _, change := range []string{
		`{"name":"a/b","description":"e"}`, `{"name":"a/b","description":"d","title":"t"}`, `{"name":"a/b","description":"d","inputSchema":{"type":"object","a":1}}`,
		`{"name":"a/b","description":"d","outputSchema":{"type":"object"}}`, `{"name":"a/b","description":"d","annotations":{"readOnlyHint":false}}`,
	} {
		s.apply([]json.RawMessage{json.RawMessage(`{"description":"d","name":"a/b"}`)}, nil)
		was := s.tools[0]
		s.apply([]json.RawMessage{json.RawMessage(change)}, nil)
		if s.tools[0].Tool == was.Tool {
			t.Errorf("%s is no change", change)
		}
	}
}

// TestPages checks that a listing is read page by page within limits.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		page  func(cursor string) string
		tools int
		pages int
	}{
		"several": {func(cursor string) string {
			switch cursor {
			case "":
				return `{"tools":[{"name":"a"}],"nextCursor":"2"}`
			case "2":
				return `{"tools":[{"name":"b"}],"nextCursor":"3"}`
			}
			return `{"tools":[{"name":"c"}]}`
		}, 3, 3},
		"the same again": {func(string) string { return `{"tools":[{"name":"a"}],"nextCursor":"2"}` }, 1, 2},
		"for ever": {func(cursor string) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%s"}],"nextCursor":"%s1"}`, cursor, cursor)
		}, 100, 100},
		"many": {func(string) string {
			var list []string
			for i := range 3000 {
				list = append(list, fmt.Sprintf(`{"name":"t%d"}`, i))
			}
			return `{"tools":[` + strings.Join(list, ",") + `]}`
		}, 2000, 1},
		"large": {func(string) string {
			var list []string
			for i := range 20 {
				list = append(list, fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", 1<<20)))
			}
			return `{"tools":[` + strings.Join(list, ",") + `]}`
		}, 15, 1},
		"what the library cannot read": {func(string) string {
			return `{"tools":[{"name":"a","annotations":{"readOnlyHint":"yes"}},{"name":"b"}]}`
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			f.other = map[string]func(*fakeConn, fakeRequest){"tools/list": func(conn *fakeConn, r fakeRequest) {
				var p struct{ Cursor string }
				_ = json.Unmarshal(r.Params, &p)
				conn.answer(r, c.page(p.Cursor))
			}}
			const patience = 5 * time.Minute // 20 MB take long on a busy machine
			m, b := beginFake(t, f, Config{ConnectTimeout: patience})
			m.Wake(t.Context(), patience)
			if got := len(b.server("x").Tools); got != c.tools {
				t.Errorf("%d tools: %v", got, b.show())
			}
			if got := f.count("tools/list"); got != c.pages {
				t.Errorf("%d pages", got)
			}
		})
	}
}
