package server

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/host"
	"mcp-toolset/tools"
)

type listIn struct {
	Word string `json:"word" jsonschema:"A word"`
}

type otherIn struct {
	Word string `json:"word" jsonschema:"Another word"`
}

// TestListBytes checks that the list always has the same bytes, whatever the
// order of registration. Any change of a name, a description, a schema or the
// set of tools changes them. The digest is of these bytes.
func TestListBytes(t *testing.T) {
	list := func(more ...*tools.Tool) []byte {
		s, _ := newServer(t, time.Second, more...)
		data, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.List(t.Context())
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("two lists of one server differ (%v)", err)
		}
		return data
	}
	word := build[listIn]("Word", "Says a word.")
	same := list(word, build[listIn]("Zebra", "Is last."))
	if other := list(build[listIn]("Zebra", "Is last."), word); !bytes.Equal(same, other) {
		t.Error("the order of registration shows in the list")
	}
	lists := [][]byte{same}
	for _, changed := range []*tools.Tool{
		build[listIn]("Words", "Says a word."), build[listIn]("Word", "Says the word."), build[otherIn]("Word", "Says a word."),
	} {
		lists = append(lists, list(changed, build[listIn]("Zebra", "Is last.")))
	}
	lists = append(lists, list(word))
	for i, a := range lists {
		for j, b := range lists[:i] {
			if bytes.Equal(a, b) {
				t.Errorf("lists %d and %d are the same", i, j)
			}
		}
	}
}

func build[In any](name, prompt string) *tools.Tool {
	return tools.MustBuild(tools.Def[In, In, gateOut]{Name: name, Prompt: prompt,
		Call: func(context.Context, *tools.Env, In) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{}, nil
		}})
}

// TestDefinition checks that all four annotations are always set, and that
// _meta has the fields by which clients load tools and truncate results.
func TestDefinition(t *testing.T) {
	d := tools.Def[listIn, listIn, gateOut]{
		Name: "Word", Title: "A word", Prompt: "Says a word.", SearchHint: "says one single word", Loading: tools.LoadAlways, MaxResultSize: 60_000,
		IsReadOnly:    tools.When(func(*tools.Env, listIn) bool { return true }),
		IsDestructive: tools.When(func(*tools.Env, listIn) bool { return false }),
		Call: func(context.Context, *tools.Env, listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{}, nil
		},
	}
	def, err := definition(tools.MustBuild(d), true, true, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(def)
	if err != nil {
		t.Fatal(err)
	}
	// An annotation covers all calls: read-only must always hold, destructive may hold
	// for one.
	want := `{"_meta":{"anthropic/alwaysLoad":true,"anthropic/maxResultSizeChars":60000,"anthropic/searchHint":"says one single word"},` +
		`"annotations":{"title":"A word","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false},` +
		`"description":"Says a word.",` +
		`"inputSchema":{"type":"object","properties":{"word":{"type":"string","description":"A word"}},"required":["word"],"additionalProperties":false},` +
		`"name":"Word",` +
		`"outputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Name of the call"}},"required":["name"],"additionalProperties":false},` +
		`"title":"A word"}`
	if string(got) != want {
		t.Errorf("definition:\n got %s\nwant %s", got, want)
	}
}

// TestContent checks that each kind of content arrives as the protocol defines
// it, with facts for programs in _meta.
func TestContent(t *testing.T) {
	tool := tools.MustBuild(tools.Def[listIn, listIn, gateOut]{Name: "All", Prompt: "Returns everything.",
		Call: func(context.Context, *tools.Env, listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Failed: true, Meta: map[string]any{"exitCode": 3}, Blocks: []tools.Content{
				tools.Image{Data: []byte("png"), MIMEType: "image/png"},
				tools.Audio{Data: []byte("wav"), MIMEType: "audio/wav"},
				tools.ResourceLink{URI: "file:///a", Name: "a", Description: "A file", MIMEType: "text/plain"},
				tools.Resource{URI: "x:text", MIMEType: "text/plain", Text: "text"},
				tools.Resource{URI: "x:blob", MIMEType: "application/x", Blob: []byte("blob")},
			}}, nil
		},
		Render: func(gateOut) []tools.Content { return []tools.Content{tools.Text{Text: "first"}} },
	})
	s, _ := newServer(t, time.Second, tool)
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "All", `{"word":"x"}`))
	want := `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"exitCode":3,"mcp-toolset/summary":"All: failed"},"content":[{"type":"text","text":"first"},` +
		`{"type":"image","data":"cG5n","mimeType":"image/png"},` +
		`{"type":"audio","data":"d2F2","mimeType":"audio/wav"},` +
		`{"type":"resource_link","uri":"file:///a","name":"a","description":"A file","mimeType":"text/plain"},` +
		`{"type":"resource","resource":{"uri":"x:text","mimeType":"text/plain","text":"text"}},` +
		`{"type":"resource","resource":{"uri":"x:blob","mimeType":"application/x","blob":"YmxvYg=="}}],"isError":true}}`
	if got := p.next(); got != want {
		t.Errorf("result:\n got %s\nwant %s", got, want)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyText checks that a client whose model gets results as JSON gets text only, without _meta.
func TestOnlyText(t *testing.T) {
	s, _ := newServer(t, time.Second)
	for _, tc := range []struct {
		content tools.Content
		want    string
	}{
		{tools.Text{Text: "a"}, `{"type":"text","text":"a"}`},
		{tools.Resource{URI: "x:a", Text: "a"}, `{"type":"resource","resource":{"uri":"x:a","text":"a"}}`},
		{tools.Image{Data: []byte("png"), MIMEType: "image/png"}, `{"type":"text","text":"[A picture (image/png, 3 bytes) is left out: this client shows its model only text. Ask the user what it holds.]"}`},
		{tools.Audio{Data: []byte("wav"), MIMEType: "audio/wav"}, `{"type":"text","text":"[A recording (audio/wav, 3 bytes) is left out: this client shows its model only text. Ask the user what it holds.]"}`},
		{tools.Resource{URI: "x:b", MIMEType: "application/x", Blob: []byte("blob")}, `{"type":"text","text":"[A file (application/x, 4 bytes) is left out: this client shows its model only text. Ask the user what it holds.]"}`},
	} {
		r, err := s.result(&tools.Response{Content: []tools.Content{tc.content}, Meta: map[string]any{"mcp-toolset/summary": "x"}}, host.Named("cline"))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(r); string(got) != `{"content":[`+tc.want+`]}` {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestNotEncodable checks that a result that JSON cannot represent is a failure
// of the call and not of the protocol.
func TestNotEncodable(t *testing.T) {
	tool := tools.MustBuild(tools.Def[listIn, listIn, gateOut]{Name: "NaN", Prompt: "Is not a number.",
		Call: func(context.Context, *tools.Env, listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Meta: map[string]any{"x": math.NaN()}}, nil
		}})
	s, _ := newServer(t, time.Second, tool)
	p := connect(t, t.Context(), s)
	p.send("%s", callLine(1, "NaN", `{"word":"x"}`))
	if got := p.next(); !strings.Contains(got, `"message":"a result cannot be encoded"`) {
		t.Errorf("the log message for the client: %s", got)
	}
	want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"NaN: failed: its result cannot be encoded. The server's log has the details."}],"isError":true}}`
	if got := p.next(); got != want {
		t.Errorf("got %s", got)
	}
	p.send("%s", callLine(2, "Read", `{"file_path":"a.txt","offset":1e400,"limit":-1E+999}`))
	want = `{"jsonrpc":"2.0","id":2,"result":{"_meta":{"mcp-toolset/summary":"Invalid input: property \"offset\" is \"1e400\""},"content":[{"type":"text","text":"Read: invalid input: property \"offset\" is \"1e400\". Send a whole number."}],"isError":true}}`
	if got := p.next(); got != want {
		t.Errorf("got %s", got)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

func TestQuoteHuge(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1e400,"b":[-1e999,2],"c":"1e400"}`: `{"a":"1e400","b":["-1e999",2],"c":"1e400"}`,
		`{"a":"\\\"1e400","b":1e30}`:             `{"a":"\\\"1e400","b":1e30}`,
		`{"a":"1e400`:                            `{"a":"1e400`,
		`1e400`:                                  `"1e400"`,
		`{"a":"x\`:                               `{"a":"x\`,
		``:                                       ``,
	} {
		if got := string(quoteHuge([]byte(in))); got != want {
			t.Errorf("quoteHuge(%s) = %s, want %s", in, got, want)
		}
	}
}

// TestPrefix checks that a client which lists tools of all servers under their own names gets ours
// with a prefix, and calls them so, and that no other client does.
func TestPrefix(t *testing.T) {
	for client, prefix := range map[string]string{"continue-cli-client": "toolset_", "x": ""} {
		s, _ := newServer(t, time.Second)
		p := connect(t, t.Context(), s)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, client)
		p.next()
		for id := 2; id < 4; id++ { // the definitions are cached
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
			if list := p.next(); !strings.Contains(list, `"name":"`+prefix+`Read"`) {
				t.Errorf("%s: %s", client, list)
			}
		}
		p.send("%s", callLine(4, prefix+"Read", `{"file_path":"a.txt"}`))
		if got := p.next(); !strings.Contains(got, "one") {
			t.Errorf("%s: %s", client, got)
		}
	}
}
