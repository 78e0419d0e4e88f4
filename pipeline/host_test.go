package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// TestHostKeys checks that the properties which a client adds to each call are dropped, also in a
// wrapped call, unless the tool has them. All others stay errors.
func TestHostKeys(t *testing.T) {
	for _, c := range []struct{ client, tool, args, want string }{
		{"gemini-cli-mcp-client", "Do", `{"do":"x","arg":"done","wait_for_previous":true}`, "done"},
		{"gemini-cli-mcp-client", "Do", `{"do":"x","arg":"done","wait_for_previous":"odd"}`, "done"},
		{"gemini-cli-mcp-client", "Wrap", `{"name":"Do","args":{"do":"x","arg":"done","wait_for_previous":false},"wait_for_previous":false}`, "done"},
		{"gemini-cli-mcp-client", "mcp__maps__place", `{"wait_for_previous":true,"b":1}`, `place {"wait_for_previous":true,"b":1}`},
		{"gemini-cli-mcp-client", "Do", `{"do":"x","wait_for_next":true}`, `failed: Do: invalid input: unknown property "wait_for_next"`},
		{"gemini-cli-mcp-client", "Do", `{"do":"x","do":"y","wait_for_previous":true}`, "failed: Do: invalid input: "},
		{"gemini-cli-mcp-client", "Do", `[1]`, "failed: Do: invalid input: "},
		{"claude-code", "Do", `{"do":"x","wait_for_previous":true}`, `failed: Do: invalid input: unknown property "wait_for_previous"`},
		{"", "Do", `{"do":"x","wait_for_previous":true}`, `failed: Do: invalid input: unknown property "wait_for_previous"`},
	} {
		b := wrapping(t, "", tools.Foreign{InputSchema: json.RawMessage(`{"type":"object","properties":{"wait_for_previous":{"type":"boolean"},"b":{}}}`)})
		b.session.SetClient(c.client)
		if got := b.run(t, t.Context(), c.tool, c.args); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s %s:\n got %s\nwant %s", c.client, c.tool, c.args, got, c.want)
		}
	}
}

// TestBarrier checks that a call which the client wants after all earlier ones waits for a read.
func TestBarrier(t *testing.T) {
	for args, want := range map[string]bool{`{"do":"x"}`: false, `{"do":"x","wait_for_previous":false}`: false, `{"do":"x","wait_for_previous":true}`: true} {
		b := newBench(t, "")
		b.session.SetClient("gemini-cli-mcp-client")
		c := b.newCall(b.request("Look", args))
		if err := stages(t.Context(), c.lookup, c.unwrap, c.parse); err != nil || c.barrier != want {
			t.Errorf("%s: %v, %v", args, c.barrier, err)
		}
	}
}

// TestReadsOnly checks that a client that may only read gets no further.
func TestReadsOnly(t *testing.T) {
	b := wrapping(t, "", tools.Foreign{})
	for tool, want := range map[string]string{
		"Look": "seen",
		"Do":   "Do: refused by policy: this client may only make calls that change nothing. Ask the user to sign in again with the scope toolset:write.",
	} {
		q := b.request(tool, `{"do":"x","arg":"seen"}`)
		q.ReadsOnly = true
		resp, err := b.Run(t.Context(), q)
		if err != nil || strings.TrimSpace(joinText(resp.Content)) != want {
			t.Errorf("%s:\n got %s %v\nwant %s", tool, joinText(resp.Content), err, want)
		}
	}
}

// TestOnlyReads checks that a wrapping tool which is read-only makes read-only calls alone.
func TestOnlyReads(t *testing.T) {
	b := wrapping(t, "", tools.Foreign{})
	reader := doer("Reader", func(d *tools.Def[doIn, doIn, doOut]) {
		wrap, err := b.Registry.Catalogue().Lookup("Wrap")
		if err != nil {
			t.Fatal(err)
		}
		d.Unwrap, d.IsReadOnly = wrap.Unwrap, tools.Always[doIn]()
	})
	r, err := tools.NewRegistry(append([]*tools.Tool{reader}, b.Registry.Tools()...), tools.Gates{Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = r
	for args, want := range map[string]string{
		`{"name":"Look","args":{"do":"x","arg":"seen"}}`: "seen",
		`{"name":"Do","args":{"do":"x","arg":"done"}}`:   "failed: Do: invalid input: CallReadOnlyTool only makes calls that change nothing. Make this one with CallTool.",
	} {
		if got := b.run(t, t.Context(), "Reader", args); got != want {
			t.Errorf("%s:\n got %s\nwant %s", args, got, want)
		}
	}
}
