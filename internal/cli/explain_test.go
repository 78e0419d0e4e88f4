package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/assembly"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// echo explains a call as allowed and repeats its input.
func echo(_ context.Context, tool string, input json.RawMessage) pipeline.Explanation {
	return pipeline.Explanation{Tool: tool, Decision: policy.Decision{Behavior: policy.Allow, Layer: "default", Reason: string(input)}}
}

// answers decodes the output for programs.
func answers(t *testing.T, out string) (all []explained) {
	t.Helper()
	for text := range strings.Lines(out) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		var e explained
		if err := dec.Decode(&e); err != nil || !strings.HasSuffix(text, "}\n") {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, e)
	}
	return all
}

// TestBatch checks that each line gets one answer, in order, whatever it holds.
func TestBatch(t *testing.T) {
	call := func(n int) string { // a call of n bytes
		const head, tail = `{"tool":"A","input":{"x":"`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	const denied = "!"
	cases := []struct{ line, want string }{ // the tool and its input, or "!" and the beginning of the error
		{`{"tool":"A","input":{"b": 1}}`, `A{"b": 1}`},
		{` {"input":{},"id":7,"tool":"A","id":{"tool":"B"}} ` + "\r", `A{}`},
		{`{"tool":"A"}`, `A`},
		{`{"t\u006fol":"A","input":null}`, `Anull`},
		{`{"tool":"A","Tool":"B","Input":1,"input":[2]}`, `A[2]`},
		{``, `!the line is not JSON: nothing is there`},
		{" \t\r", `!the line is not JSON: nothing is there`},
		{`{"tool":"A"`, `!the line is not JSON: column 12: the line ends too early; a quote or bracket is not closed`},
		{`{"tool":"A"} {}`, `!the line is not JSON: column 14: expected the end of the line, found "{"`},
		{`{"tool":"A","input":{x}}`, `!the line is not JSON: column 22: expected a quoted key, found "x"`},
		{`["A"]`, `!the line is not an object; write {"tool": NAME, "input": {...}}`},
		{`null`, `!the line is not an object`},
		{`{}`, `!the line names no tool`},
		{`{"Tool":"A"}`, `!the line names no tool`},
		{`{"tool":null}`, `!the tool is not a string`},
		{`{"tool":["A"]}`, `!the tool is not a string`},
		{`{"tool":"A","tool":"B"}`, `!the key "tool" is given twice`},
		{`{"tool":null,"tool":"B"}`, `!the key "tool" is given twice`},
		{`{"tool":"A","input":{},"\u0069nput":{}}`, `!the key "input" is given twice`},
		{"{\"tool\":\"A\xff\"}", `!the line is not UTF-8`},
		{strings.Repeat("[", 400_000), `!the line is nested more than 10000 deep`},
		{call(64 << 10), ""}, {call(64<<10 - 1), ""}, {call(400_000), ""}, {call(maxLine), ""},
		{call(maxLine + 1), `!the call is too long: more than 1048576 bytes`},
		{call(3 * maxLine), `!the call is too long`},
		{`{"tool":"Z","input":{}}`, `Z{}`},
	}
	for _, end := range []string{"", "\n"} {
		var in, out bytes.Buffer
		for i, c := range cases {
			if i > 0 {
				in.WriteByte('\n')
			}
			in.WriteString(c.line)
		}
		in.WriteString(end)
		x := explainer{explain: echo, out: &out}
		if err := x.batch(t.Context(), &in); err != nil {
			t.Fatal(err)
		}
		got := answers(t, out.String())
		if len(got) != len(cases) {
			t.Fatalf("%d answers to %d lines", len(got), len(cases))
		}
		for i, c := range cases {
			shown := c.line[:min(len(c.line), 60)]
			if want, bad := strings.CutPrefix(c.want, denied); bad {
				if g := got[i]; g.Decision != "deny" || g.Layer != "input" || g.Tool != "" || g.Reason != g.Error || !strings.HasPrefix(g.Error, want) {
					t.Errorf("%s: %+v\nwant the error %s", shown, g, want)
				}
				continue
			}
			want := c.want
			if want == "" {
				want = "A" + c.line[len(`{"tool":"A","input":`):len(c.line)-1]
			}
			if g := got[i]; g.Decision != "allow" || g.Error != "" || g.Tool+g.Reason != want {
				t.Errorf("%s: %.200v", shown, g)
			}
		}
	}
	for in, want := range map[string]int{
		"": 0, "\n": 1, "\n\n": 2, "x": 1,
		strings.Repeat("x", 64<<10): 1, strings.Repeat("x", 2*maxLine): 1, // the buffer is full at the end
	} {
		var out bytes.Buffer
		x := explainer{explain: echo, out: &out}
		if err := x.batch(t.Context(), strings.NewReader(in)); err != nil || len(answers(t, out.String())) != want {
			t.Errorf("%.9q, %d bytes: %v, %.300q", in, len(in), err, &out)
		}
	}
}

// TestBatchTalks checks that a call is answered before the next one arrives, and that waiting for
// that one ends with the context.
func TestBatchTalks(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	defer send.Close()
	ctx, cancel := context.WithCancel(t.Context())
	x := explainer{explain: echo, out: out}
	ended := make(chan error, 1)
	go func() { ended <- x.batch(ctx, in) }()
	answer := make([]byte, 1000)
	for _, tool := range []string{"A", "B", "C"} {
		if _, err := io.WriteString(send, `{"tool":"`+tool+"\"}\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := receive.Read(answer); err != nil || answers(t, string(answer[:n]))[0].Tool != tool {
			t.Fatalf("%q, %v", answer[:n], err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestExplainCancelled checks that the explanation of a cancelled call is not printed.
func TestExplainCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	x := explainer{out: &out, explain: func(ctx context.Context, tool string, input json.RawMessage) pipeline.Explanation {
		cancel()
		return echo(ctx, tool, input)
	}}
	if err := x.print(ctx, x.explain(ctx, "A", nil)); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v, %q", err, &out)
	}
}

// noise is a long line without an end.
type noise struct{ left int }

func (n *noise) Read(p []byte) (int, error) {
	if n.left == 0 {
		return 0, io.EOF
	}
	m := min(len(p), n.left)
	for i := range p[:m] {
		p[i] = 'x'
	}
	n.left -= m
	return m, nil
}

// TestBatchHoldsNoLongLine checks that a line over the limit is read but not stored.
func TestBatchHoldsNoLongLine(t *testing.T) {
	var out bytes.Buffer
	x := explainer{explain: echo, out: &out}
	in := io.MultiReader(&noise{left: 50 << 20}, strings.NewReader("\n{\"tool\":\"A\"}"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := x.batch(t.Context(), in)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(t, out.String()); len(got) != 2 || got[0].Error != errTooLong.Error() || got[1].Tool != "A" {
		t.Errorf("%+v", got)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("50 MiB in one line took %d bytes", n)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error)  { return 0, b.err }
func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestBatchBroken(t *testing.T) {
	lost := errors.New("lost")
	x := explainer{explain: echo, out: io.Discard}
	if err := x.batch(t.Context(), io.MultiReader(strings.NewReader("{}\n{"), broken{lost})); !errors.Is(err, lost) {
		t.Errorf("a stream that breaks: %v", err)
	}
	x.out = broken{lost}
	if err := x.batch(t.Context(), strings.NewReader("{}\n{}\n")); !errors.Is(err, lost) {
		t.Errorf("nobody reads the answers: %v", err)
	}
}

// TestExplainRecovers checks that a call that panics in a tool is denied, that later calls are
// answered, and that the text of the panic is not shown.
func TestExplainRecovers(t *testing.T) {
	fragile := tools.MustBuild(tools.Def[word, word, word]{
		Name: "Fragile", Prompt: "Breaks.", IsReadOnly: tools.Always[word](),
		Parts: func(_ *tools.Env, w word) *tools.Parts {
			if w.Word == "boom" {
				panic("secret detail")
			}
			return &tools.Parts{List: []policy.Part{{Text: "say <" + w.Word + ">"}}}
		},
		Call: func(context.Context, *tools.Env, word) (tools.Result[word], error) {
			t.Error("the call was run")
			return tools.Result[word]{}, nil
		},
	})
	var log, out bytes.Buffer
	a, err := assembly.New(assembly.Config{
		Tools: []*tools.Tool{fragile, gated("Gone", "")}, Roots: []string{t.TempDir()}, State: filepath.Join(t.TempDir(), "state"),
		Settings: parseSettings(t, `{"permissions":{"ask":["Fragile(say <x>)"],"deny":["Gone(*)"]}}`),
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	x := explainer{explain: a.Explain, out: &out}
	in := `{"tool":"Fragile","input":{"word":"boom"}}
{"tool":"Fragile","input":{"word":"x"}}
{"tool":"Gone","input":{"word":"x"}}
`
	if err := x.batch(t.Context(), strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	want := `{"tool":"Fragile","decision":"deny","layer":"tool","rule":"","source":"","line":0,"read_only":false,"concurrency_safe":false,"commands":[],"parts":[],"hooks":0,` +
		`"reason":"the tool stopped on an internal error","next":"Try another way; the server's log has the details."}
{"tool":"Fragile","decision":"ask","layer":"rule","rule":"Fragile(say <x>)","source":"/etc/test.json","line":1,"read_only":true,"concurrency_safe":false,"commands":["say <x>"],"parts":[{"text":"say <x>","decision":"ask","layer":"rule","rule":"Fragile(say <x>)","source":"/etc/test.json","line":1,"reason":"the ask rule Fragile(say <x>) covers this call","decides":true}],"hooks":0,` +
		`"reason":"the ask rule Fragile(say <x>) covers this call","next":"the user can change the rule in /etc/test.json:1"}
{"tool":"Gone","decision":"deny","layer":"rule","rule":"Gone(*)","source":"/etc/test.json","line":1,"read_only":false,"concurrency_safe":false,"commands":[],"parts":[],"hooks":0,` +
		`"reason":"the deny rule Gone(*) covers every call of Gone","next":"do without this tool, or ask the user to change the rule in /etc/test.json:1"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if !strings.Contains(log.String(), "secret detail") {
		t.Errorf("the log does not have the panic: %s", &log)
	}
}

// TestExplainText checks the output for users, which must not control a terminal.
func TestExplainText(t *testing.T) {
	var out bytes.Buffer
	x := explainer{out: &out, text: true, explain: func(_ context.Context, tool string, _ json.RawMessage) pipeline.Explanation {
		return pipeline.Explanation{
			Tool: tool, Facts: tools.Facts{ReadOnly: true}, Hooks: 2, Deciding: []int{0, 1},
			Parts: []policy.PartDecision{
				{Text: "ls -l", Behavior: policy.Allow, Layer: "read-only", Reason: "it only reads"},
				{Text: "echo \x1b[2J\n", Behavior: policy.Ask, Layer: "rule", Rule: "T(\u202ex)", Source: "/etc/s.json", Line: 7, Reason: "a reason"},
				{Text: strings.Repeat("x", 1000), Layer: "default", Reason: "none\x1b"},
			},
			Decision: policy.Decision{Behavior: policy.Ask, Layer: "rule", Rule: "T(\u202ex)", Source: "/etc/s.json", Line: 7, Reason: "a reason", Next: "a step"},
		}
	}}
	if err := x.batch(t.Context(), strings.NewReader("{\"tool\":\"T\"}\n{}\n")); err != nil {
		t.Fatal(err)
	}
	want := `T: ask
  decided by        rule
  rule              T(\u202ex)
  of                /etc/s.json:7
  reason            a reason
  next              a step
  read-only         yes
  concurrency-safe  no
  commands        > ask    ls -l  (rule: the reason above)
                  > ask    echo \x1b[2J  (rule T(\u202ex) of /etc/s.json:7)
                    deny   ` + strings.Repeat("x", 250) + "…" + strings.Repeat("x", 250) + `  (default: none\x1b)
  hooks             2 would run first and may decide otherwise; none was started for this

no call: deny
  decided by        input
  reason            the line names no tool; write {"tool": NAME, "input": {...}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}

// TestArguments covers the arguments on a command line and on standard input.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args     []string
		in, want string
		err      bool
	}{
		{args: []string{"A"}, in: "x", want: `{}`},
		{args: []string{"A", `{"b":1}`}, in: "x", want: `{"b":1}`},
		{args: []string{"A", "-"}, in: " {\"b\":1}\n", want: `{"b":1}`},
		{args: []string{"A", "{"}, want: "the arguments are not JSON; quote them for the shell: '{\"file_path\":\"README.md\"}'", err: true},
		{args: []string{"Bash", " "}, want: "the arguments are not JSON; quote them for the shell: '{\"command\":\"ls\"}'", err: true},
		{args: []string{"A", "[]"}, want: "the arguments are JSON but not an object: use {...}", err: true},
		{args: []string{"A", "-"}, in: strings.Repeat(" ", maxLine) + "{}", want: errTooLong.Error(), err: true},
	} {
		got, err := arguments(strings.NewReader(c.in), c.args, maxLine)
		var usage usageError
		if c.err != errors.As(err, &usage) || c.err && err.Error() != c.want || !c.err && string(got) != c.want {
			t.Errorf("%q: %s, %v", c.args, got, err)
		}
	}
}

func FuzzParseCall(f *testing.F) {
	for _, seed := range []string{`{"tool":"A","input":{}}`, `{"Tool":1,"tool":"A"}`, `{"tool":"A","tool":"A"}`, `[]`, "\xff", `{"\u0074ool":"A"}{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tool, input, err := parseCall(text)
		var all map[string]json.RawMessage
		if json.Unmarshal(text, &all) != nil && err == nil {
			t.Fatalf("%q is not an object and was read", text)
		}
		if err != nil {
			return
		}
		var want string
		if err := json.Unmarshal(all["tool"], &want); err != nil || want != tool || !bytes.Equal(all["input"], input) {
			t.Errorf("%q: tool %q, input %q", text, tool, input)
		}
	})
}
