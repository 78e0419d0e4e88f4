package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/read"
	"mcp-toolset/web/site"
)

// bench is a pipeline with tools that act as their input requests.
type bench struct {
	*Pipeline
	root    string
	state   string
	session *session.Session
	lane    *concurrency.Lane
	log     bytes.Buffer
}

type doIn struct {
	Do   string `json:"do" jsonschema:"What to do"`
	Arg  string `json:"arg,omitempty" jsonschema:"With what"`
	Path string `json:"path,omitempty" jsonschema:"Where"`
}

type doOut struct {
	Said string `json:"said" jsonschema:"What was said"`
}

// connectLater receives what "connections" gives away.
var connectLater = make(chan tools.Connections, 1)

// doer returns a tool that acts as its input requests. change may set its annotations.
func doer(name string, change func(*tools.Def[doIn, doIn, doOut])) *tools.Tool {
	d := tools.Def[doIn, doIn, doOut]{
		Name: name, Prompt: "Does what it is told.",
		Path: func(in doIn) string { return in.Path },
		Prepare: func(env *tools.Env, in doIn) (doIn, error) {
			if in.Path != "" {
				in.Path = env.Abs(in.Path)
			}
			if in.Do == "panic early" {
				panic(in.Arg)
			}
			if in.Do == "invalid" {
				return in, &tools.Fault{Fact: "do is invalid", Next: "Do something else."}
			}
			return in, nil
		},
		Description: func(in doIn) string {
			if in.Do == "sleep" {
				return "Read " + in.Path
			}
			return "Do"
		},
		Summary: func(in doIn, r tools.Result[doOut]) string {
			if in.Do == "sum" {
				return r.Data.Said
			}
			return ""
		},
		Call:   do,
		Render: func(o doOut) []tools.Content { return []tools.Content{tools.Text{Text: o.Said}} },
	}
	if change != nil {
		change(&d)
	}
	return tools.MustBuild(d)
}

func do(ctx context.Context, env *tools.Env, in doIn) (tools.Result[doOut], error) {
	r := tools.Result[doOut]{Data: doOut{Said: in.Arg}}
	switch in.Do {
	case "cd":
		r.Effect.Dir = env.Abs(in.Arg)
	case "where":
		r.Data.Said = env.Session.Dir
	case "fail":
		return r, errors.New(in.Arg)
	case "sum":
		r.Data.Said, r.Meta = in.Arg, map[string]any{tools.MetaHunks: in.Arg}
	case "fault":
		return r, &tools.Fault{Fact: in.Arg, Next: "Do something else."}
	case "panic":
		panic(in.Arg)
	case "wait":
		env.Progress(tools.Progress{Message: "waiting"})
		<-ctx.Done()
		return r, ctx.Err()
	case "open":
		f, _, err := env.Files.Open(in.Arg)
		if err != nil {
			return r, err
		}
		r.Data.Said = "opened"
		return r, f.Close()
	case "sleep": // for Arg, and reports in between
		for step := range strings.SplitSeq(in.Arg, " ") {
			if text, ok := strings.CutPrefix(step, "activity:"); ok {
				env.Progress(tools.Progress{Activity: text})
			} else if done, ok := strings.CutPrefix(step, "done:"); ok {
				n, _ := strconv.ParseFloat(done, 64)
				env.Progress(tools.Progress{Done: n, Message: "at " + done})
			} else if d, err := time.ParseDuration(step); err == nil {
				time.Sleep(d)
			}
		}
	case "elicit":
		return elicit(ctx, env, in)
	case "later":
		lastLater = env.Later
		return r, nil
	case "question":
		reply, err := env.AskUser(ctx, colours)
		if err == nil {
			r.Data.Said = reply.Lines(colours)
		}
		return r, err
	case "dial":
		return r, env.CheckAddr(site.Site{Host: filepath.Base(in.Path), Port: 443}, netip.MustParseAddr(in.Arg))
	case "connect": // to each of some hosts at the same time
		hosts := strings.Fields(in.Arg)
		said := make([]string, len(hosts))
		var wg sync.WaitGroup
		for i, host := range hosts {
			wg.Go(func() {
				said[i] = "connected"
				if err := env.Commands.Connections.Allow(ctx, site.Site{Host: host, Port: 443}); err != nil {
					said[i] = err.Error()
				}
			})
		}
		wg.Wait()
		r.Data.Said = strings.Join(said, "\n")
	case "connections": // gives them away
		connectLater <- env.Commands.Connections
	case "repeat":
		r.Data.Said = strings.Repeat(in.Arg, 50)
	case "image":
		r.Blocks = []tools.Content{tools.Image{Data: []byte("png"), MIMEType: "image/png"}}
	case "calls":
		for line := range strings.SplitSeq(in.Arg, "\n") {
			name, args, _ := strings.Cut(line, " ")
			resp, err := env.Call(ctx, name, json.RawMessage(args))
			if err != nil {
				return r, err
			}
			r.Data.Said = joinText(resp.Content)
		}
	case "call after cancel":
		env.Progress(tools.Progress{})
		fallthrough
	case "call":
		name, args, _ := strings.Cut(in.Arg, " ")
		resp, err := env.Call(ctx, name, json.RawMessage(args))
		if err != nil {
			return r, err
		}
		r.Data.Said = fmt.Sprintf("%s said %q, failed: %v", name, joinText(resp.Content), resp.Failed)
	}
	return r, nil
}

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	roots, err := workspace.OpenRoots([]string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roots.Close() })
	b := &bench{root: roots.Paths()[0], state: filepath.Join(t.TempDir(), "state")}
	if b.state, err = workspace.Canonical(b.state); err != nil {
		t.Fatal(err)
	}
	safe := func(d *tools.Def[doIn, doIn, doOut]) {
		d.IsReadOnly, d.IsConcurrencySafe = tools.Always[doIn](), tools.Always[doIn]()
	}
	short := func(keep tools.Excerpt) func(d *tools.Def[doIn, doIn, doOut]) {
		return func(d *tools.Def[doIn, doIn, doOut]) { d.MaxResultSize, d.Excerpt = 1000, keep }
	}
	registry, err := tools.NewRegistry([]*tools.Tool{
		doer("Do", nil), doer("Look", func(d *tools.Def[doIn, doIn, doOut]) { safe(d); d.Aliases = []string{"Former"} }),
		doer("Gone", safe), doer("Off", func(d *tools.Def[doIn, doIn, doOut]) { d.Feature = "off" }),
		doer("Hear", func(d *tools.Def[doIn, doIn, doOut]) { d.Collects = true }),
		doer("Finisher", func(d *tools.Def[doIn, doIn, doOut]) { d.Interrupt = tools.Finish }),
		doer("Strict", func(d *tools.Def[doIn, doIn, doOut]) {
			d.Check = func(_ *tools.Env, in doIn) *policy.Decision {
				switch in.Do {
				case "cd":
					return &policy.Decision{Behavior: policy.Deny, Reason: "Strict never moves", Next: "stay"}
				case "doubt":
					return &policy.Decision{Behavior: policy.Ask, Reason: "Strict has doubts", Next: "ask the user to allow it"}
				}
				return &policy.Decision{Behavior: policy.Allow}
			}
		}),
		doer("Ruled", func(d *tools.Def[doIn, doIn, doOut]) {
			d.Parts = func(_ *tools.Env, in doIn) *tools.Parts {
				return &tools.Parts{Unnamed: in.Path, List: []policy.Part{{Text: in.Do, Name: in.Do, ReadOnly: true}, {Text: "say " + in.Arg, Name: "say " + in.Arg, Allowable: true}}}
			}
		}),
		doer("WebFetch", func(d *tools.Def[doIn, doIn, doOut]) {
			safe(d)
			d.Path, d.Site = nil, func(in doIn) site.Site { return site.Site{Host: filepath.Base(in.Path), Port: 443} }
		}),
		doer("Head", short(tools.ExcerptHead)), doer("Tail", short(tools.ExcerptTail)), doer("Ends", short(tools.ExcerptEnds)),
		read.New(read.Options{}),
	}, tools.Gates{Features: map[string]bool{"off": false}, Denied: func(t *tools.Tool) (string, bool) { return "it is gone", t.Name == "Gone" }})
	if err != nil {
		t.Fatal(err)
	}
	var set *settings.Settings
	if text != "" {
		if set, err = settings.Parse([]byte(text), "/etc/test.json", "/etc"); err != nil {
			t.Fatal(err)
		}
	}
	store := results.New(filepath.Join(b.state, "results"), 1<<24, time.Now)
	t.Cleanup(func() { _ = store.Close() })
	b.Pipeline = New(Config{
		Registry: registry, Roots: roots, Results: store,
		Rules: Rules{Policy: policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: roots.Paths(), Closed: []string{b.state}})},
	})
	b.session = session.New(session.Config{ID: "1", Roots: roots.Paths(), Results: store.Hold("1")})
	b.lane = concurrency.New(concurrency.Config{}).NewLane("")
	return b
}

func (b *bench) request(tool, args string) Request {
	ticket, err := b.lane.Arrive()
	if err != nil {
		panic(err)
	}
	return Request{
		Tool: tool, Arguments: json.RawMessage(args), Session: b.session, Ticket: ticket,
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
	}
}

// run runs a call and returns its text with the paths of this test replaced.
// The text of a failure begins with "failed: ".
func (b *bench) run(t *testing.T, ctx context.Context, tool, args string) string {
	t.Helper()
	resp, err := b.Run(ctx, b.request(tool, args))
	if err != nil {
		return "error: " + err.Error()
	}
	text := strings.NewReplacer(b.root, "$ROOT", b.state, "$STATE").Replace(joinText(resp.Content))
	if resp.Failed {
		return "failed: " + text
	}
	return text
}

// TestRefusals checks the text of each refusal of a pipeline stage.
func TestRefusals(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Read(secret/**)","Look"],"ask":["Do(ask.txt)","Ruled(say please)"]}}`)
	if err := os.Symlink("loop", filepath.Join(b.root, "loop")); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ctx := t.Context()
	for _, tc := range []struct {
		ctx              context.Context
		tool, args, want string
	}{
		{ctx, "Doo", `{}`, `error: there is no tool "Doo"; the nearest is Do`},
		{ctx, "Do", `{"du":"x"}`, `failed: Do: invalid input: unknown property "du". Did you mean "do"? Known properties: do, arg, path.`},
		{ctx, "Do", `{"do":"invalid"}`, `failed: Do: invalid input: do is invalid. Do something else.`},
		{ctx, "Do", `{"do":"x","path":"/outside"}`, `failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT)`},
		{ctx, "Do", `{"do":"x","path":"loop"}`, `failed: Do: invalid input: the path cannot be followed: resolving $ROOT/loop: too many levels of symbolic links. Use another path.`},
		{ctx, "Do", `{"do":"x","path":"ask.txt"}`, `failed: Do: refused by policy: the ask rule Do(ask.txt) covers this call, and the user cannot be asked here. `},
		{ctx, "Read", `{"file_path":"secret/key"}`, `failed: Read: refused by policy: the deny rule Read(secret/**) covers $ROOT/secret/key. `},
		{ctx, "Look", `{"do":"x"}`, `failed: Look: refused by policy: the deny rule Look covers every call of Look. `},
		{ctx, "Ruled", `{"do":"x","arg":"please"}`, `failed: Ruled: refused by policy: the ask rule Ruled(say please) covers this call`},
		{ctx, "Ruled", `{"do":"x","arg":"thanks"}`, `thanks`},
		{ctx, "Strict", `{"do":"cd"}`, `failed: Strict: refused by policy: Strict never moves`},
		{ctx, "Do", `{"do":"open","arg":"/outside"}`, `failed: Do: refused by policy: /outside is outside the workspace roots ($ROOT)`},
		{ctx, "Do", `{"do":"fail","arg":"the disk is full"}`, `failed: Do: failed: the disk is full`},
		{ctx, "Do", `{"do":"panic","arg":"secret detail"}`,
			`failed: Do: failed: the tool stopped on an internal error. Try another way; the server's log has the details.`},
		{ctx, "Do", `{"do":"panic early","arg":"early detail"}`,
			`failed: Do: failed: the tool stopped on an internal error. Try another way; the server's log has the details.`},
		{cancelled, "Do", `{"do":"x"}`, `failed: Do: cancelled: the call was cancelled`},
		{ctx, "Do", `{"do":"x","arg":"still works"}`, `still works`},
	} {
		if got := b.run(t, tc.ctx, tc.tool, tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.tool, tc.args, got, tc.want)
		}
	}
	if log := b.log.String(); !strings.Contains(log, "secret detail") || !strings.Contains(log, "early detail") || !strings.Contains(log, "pipeline_test.go") {
		t.Errorf("the log does not have the panic and its stack: %s", log)
	}
}

// TestCheck checks that a tool's Deny always holds, that its Ask holds unless
// an allow rule covers the call, and that a matcher gets the rule's behavior.
func TestCheck(t *testing.T) {
	doubt := `failed: Strict: refused by policy: Strict has doubts, and the user cannot be asked here. Ask the user to allow it.`
	for _, tc := range []struct{ rules, tool, args, want string }{
		{`{}`, "Strict", `{"do":"doubt","arg":"done"}`, doubt},
		{`{"allow":["Strict"]}`, "Strict", `{"do":"doubt","arg":"done"}`, `done`},
		{`{"allow":["Do"]}`, "Strict", `{"do":"doubt","arg":"done"}`, doubt},
		{`{"allow":["Strict"]}`, "Strict", `{"do":"cd"}`, `failed: Strict: refused by policy: Strict never moves. Stay.`},
		{`{"allow":["Strict"],"ask":["Strict"]}`, "Strict", `{"do":"doubt"}`, `failed: Strict: refused by policy: the ask rule Strict covers every call of Strict, and the user cannot be asked here. The user can change the rule in /etc/test.json:1.`},
		{`{"deny":["Ruled(say:*)"]}`, "Ruled", `{"do":"x","arg":"thanks"}`, `failed: Ruled: refused by policy: the deny rule Ruled(say:*) covers this call. Do it another way, or ask the user to change the rule in /etc/test.json:1.`},
		{`{"allow":["Ruled(say *)"]}`, "Ruled", `{"do":"x","arg":"thanks"}`, `thanks`},
	} {
		b := newBench(t, `{"permissions":`+tc.rules+`}`)
		if got := b.run(t, t.Context(), tc.tool, tc.args); got != tc.want {
			t.Errorf("%s: %s %s:\n got %s\nwant %s", tc.rules, tc.tool, tc.args, got, tc.want)
		}
	}
}

// TestDecidedOnWhatEarlierCallsLeft checks that a call sent after one that
// changes the working directory is prepared in the new one.
func TestDecidedOnWhatEarlierCallsLeft(t *testing.T) {
	b := newBench(t, "")
	if err := os.Mkdir(filepath.Join(b.root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := b.request("Do", `{"do":"cd","arg":"sub"}`), b.request("Look", `{"do":"where"}`)
	answer := make(chan string, 1)
	go func() { // asks first, and waits for the one before it
		resp, err := b.Run(t.Context(), second)
		answer <- fmt.Sprint(joinText(resp.Content), err)
	}()
	if _, err := b.Run(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got, want := <-answer, b.root+"/sub<nil>"; got != want {
		t.Errorf("the call behind cd ran in %s, want %s", got, want)
	}
}

func TestCancelWhileRunning(t *testing.T) {
	b := newBench(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	r := b.request("Do", `{"do":"wait"}`)
	r.Progress = func(tools.Progress) { cancel() }
	resp, err := b.Run(ctx, r)
	if err != nil || !resp.Failed || joinText(resp.Content) != "Do: cancelled: the call was cancelled" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestFinish checks that a call that must finish completes and has its effect
// although it was cancelled.
func TestFinish(t *testing.T) {
	b := newBench(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	r := b.request("Finisher", `{"do":"cd","arg":"sub"}`)
	r.Progress = func(tools.Progress) {}
	c := b.newCall(r)
	if err := stages(t.Context(), c.lookup, c.parse, c.judge); err != nil {
		t.Fatal(err)
	}
	cancel() // between its start and its work
	out, err := c.execute(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.apply(out.effects)
	r.Ticket.Leave()
	if got := b.session.View().Dir; got != b.root+"/sub" {
		t.Errorf("the session is in %s", got)
	}
}

func TestNestedCalls(t *testing.T) {
	b := newBench(t, `{"permissions":{"deny":["Strict"]}}`)
	for _, tc := range []struct{ tool, args, want string }{
		{"Do", `{"do":"call","arg":"Look {\"do\":\"where\"}"}`, `Look said "$ROOT", failed: false`},
		{"Do", `{"do":"call","arg":"Do {\"do\":\"cd\",\"arg\":\"sub\"}"}`, `Do said "sub", failed: false`},
		{"Look", `{"do":"where"}`, `$ROOT/sub`}, // the nested effect reached the session
		{"Do", `{"do":"call","arg":"Strict {\"do\":\"x\"}"}`, `Strict said "Strict: refused by policy: `},
		{"Do", `{"do":"call","arg":"Look {\"du\":1}"}`, `Look said "Look: invalid input: `},
		{"Do", `{"do":"call","arg":"Do {\"do\":\"panic\"}"}`, `Do said "Do: failed: the tool stopped on an internal error`},
		{"Do", `{"do":"call","arg":"Nope {}"}`, `failed: Do: failed: there is no tool "Nope"`},
		{"Look", `{"do":"call","arg":"Do {\"do\":\"x\"}"}`, `Do said "Do: failed: Look runs beside other calls and Do may not", failed: true`},
	} {
		if got := b.run(t, t.Context(), tc.tool, tc.args); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.tool, tc.args, got, tc.want)
		}
	}
	// The effects of a nested call hold for the next one. Its result is
	// limited, and it does not start after a cancel.
	if err := os.MkdirAll(filepath.Join(b.root, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := b.run(t, t.Context(), "Do", `{"do":"calls","arg":"Do {\"do\":\"cd\",\"arg\":\"`+b.root+`/deep\"}\nLook {\"do\":\"where\"}"}`); !strings.HasSuffix(got, "$ROOT/deep") {
		t.Errorf("a nested call behind one that moved: %s", got)
	}
	long, _ := json.Marshal(map[string]string{"do": "call", "arg": `Head {"do":"repeat","arg":"` + strings.Repeat("x", 100) + `"}`})
	if got := b.run(t, t.Context(), "Do", string(long)); len(got) > 2000 || !strings.Contains(got, "The whole result is in") {
		t.Errorf("a long result of a nested call: %d characters", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := b.request("Do", `{"do":"call after cancel","arg":"Do {\"do\":\"cd\",\"arg\":\"`+b.root+`\"}"}`)
	r.Progress = func(tools.Progress) { cancel() }
	if _, err := b.Run(ctx, r); err != nil || b.session.View().Dir != b.root+"/deep" {
		t.Errorf("a nested call began after the cancel: %v, in %s", err, b.session.View().Dir)
	}
	deep := `{"do":"x"}`
	for range maxDepth + 1 {
		arg, _ := json.Marshal("Do " + deep)
		deep = `{"do":"call","arg":` + string(arg) + `}`
	}
	if got := b.run(t, t.Context(), "Do", deep); !strings.Contains(got, "calls are nested more than 8 deep") {
		t.Errorf("deep nesting: %.300s", got)
	}
}

// TestLimit checks that a long result is stored whole, and that Read can
// continue from the place named in the preview.
func TestLimit(t *testing.T) {
	b := newBench(t, "")
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "%04d: %s\n", i+1, strings.Repeat("é", 34))
	}
	whole := lines.String()
	arg, _ := json.Marshal(map[string]string{"do": "say", "arg": whole})
	for tool, want := range map[string]struct{ first, last, from string }{
		"Head": {"0001", "]", "13"},
		"Tail": {"0001", "0100", "3"},
		"Ends": {"0001", "0100", "7"},
	} {
		resp, err := b.Run(t.Context(), b.request(tool, string(arg)))
		if err != nil {
			t.Fatal(err)
		}
		text := joinText(resp.Content)
		if n := utf8.RuneCountInString(text); n > 1000 || n < 400 || !utf8.ValidString(text) {
			t.Errorf("%s: the preview has %d characters", tool, n)
		}
		if last := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]; !strings.HasPrefix(text, want.first) ||
			!strings.HasPrefix(last, want.last) && !strings.HasSuffix(last, want.last) {
			t.Errorf("%s: the preview is\n%s", tool, text)
		}
		_, notice, _ := strings.Cut(text, "The whole result is in ")
		path, rest, _ := strings.Cut(notice, "; go on with Read at offset ")
		if stored, err := os.ReadFile(path); err != nil || string(stored) != whole {
			t.Errorf("%s: stored %d bytes of %d, %v", tool, len(stored), len(whole), err)
		}
		offset, _, _ := strings.Cut(rest, "]")
		if offset != want.from {
			t.Errorf("%s: go on at %s, want %s", tool, offset, want.from)
		}
		got := b.run(t, t.Context(), "Read", fmt.Sprintf(`{"file_path":%q,"offset":%s,"limit":1}`, path, offset))
		if !strings.Contains(got, fmt.Sprintf("\t%04s: ", offset)) {
			t.Errorf("%s: reading on at %s says %s", tool, offset, got)
		}
		if got := b.run(t, t.Context(), "Do", fmt.Sprintf(`{"do":"x","path":%q}`, path)); !strings.Contains(got, "refused by policy") {
			t.Errorf("a stored result may be edited: %s", got)
		}
	}
	if got := b.run(t, t.Context(), "Read", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(b.state, "token"))); !strings.Contains(got, "refused by policy") {
		t.Errorf("the state folder may be read: %s", got)
	}
}

// TestLongErrors checks that an error is limited like any result.
func TestLongErrors(t *testing.T) {
	b := newBench(t, "")
	for tool, limit := range map[string]int{"Head": 1000, "Do": tools.DefaultResultSize} {
		arg, _ := json.Marshal(map[string]string{"do": "fail", "arg": strings.Repeat("é", 300_000)})
		if got := b.run(t, t.Context(), tool, string(arg)); utf8.RuneCountInString(got) > limit+10 || !strings.Contains(got, "The whole result is in") {
			t.Errorf("%s: an error of %d characters", tool, utf8.RuneCountInString(got))
		}
	}
}

// TestLongLines checks that the lines of a stored result are short enough for
// Read.
func TestLongLines(t *testing.T) {
	b := newBench(t, "")
	whole := strings.Repeat("é", 25_000) + "\n" + strings.Repeat("x", 10_000) + "\nend"
	arg, _ := json.Marshal(map[string]string{"do": "say", "arg": whole})
	got := b.run(t, t.Context(), "Head", string(arg))
	if !strings.Contains(got, "left out of 5 lines (35007 characters)") || !strings.Contains(got, "go on with Read at offset 1]") {
		t.Errorf("the notice: %s", got[len(got)-300:])
	}
	_, rest, _ := strings.Cut(got, "The whole result is in ")
	path, _, _ := strings.Cut(strings.Replace(rest, "$STATE", b.state, 1), ";")
	stored, err := os.ReadFile(path)
	if err != nil || strings.ReplaceAll(string(stored), "\n", "") != strings.ReplaceAll(whole, "\n", "") {
		t.Errorf("stored %d bytes of %d, %v", len(stored), len(whole), err)
	}
}

func TestLimitKeepsOtherContentAndSaysWhenNotStored(t *testing.T) {
	b := newBench(t, "")
	arg, _ := json.Marshal(map[string]string{"do": "image", "arg": strings.Repeat("x", 2000)})
	resp, err := b.Run(t.Context(), b.request("Head", string(arg)))
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Content) != 2 {
		t.Fatalf("content: %v", resp.Content)
	}
	if diff := cmp.Diff(tools.Content(tools.Image{Data: []byte("png"), MIMEType: "image/png"}), resp.Content[1]); diff != "" {
		t.Errorf("the image (-want +got):\n%s", diff)
	}
	b.Results = results.New(filepath.Join(b.state, "results"), 10, time.Now)
	got := b.run(t, t.Context(), "Head", string(arg))
	if want := "[1 line (1500 characters) left out of 1 line (2000 characters). The whole result could not be stored: stored results have used up their quota]"; !strings.HasSuffix(got, want) {
		t.Errorf("over the quota: %s", got)
	}
}
