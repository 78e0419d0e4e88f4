//go:build unix || windows

package feed

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestMain also runs the test binary as a command that asks the server above it.
func TestMain(m *testing.M) {
	if folder := os.Getenv("FEED_CHILD"); folder != "" {
		r := Remote{folder}
		_, err := r.Ask(context.Background(), "policy", json.RawMessage("{}"))
		fmt.Println(err)
		fmt.Println(r.Watch(context.Background(), func(Update) error { return errors.New("watched") }))
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a feed of a made-up server.
type world struct {
	*Local
	t     *testing.T
	store *approval.Store
	lane  *concurrency.Lane
}

func newWorld(t *testing.T, parts Parts) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "f") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	store := approval.New(approval.Config{Folder: filepath.Join(dir, "s"), Server: "/work", Now: time.Now, Log: log})
	ring := new(Ring)
	scheduler := concurrency.New(concurrency.Config{Left: ring.Add, Now: time.Now})
	l := New(Config{
		Name: "/work", Version: "v", Transport: "stdio", Mode: "default", Process: 1, Roots: []string{"/work"}, Scheduler: scheduler, Ring: ring, Approvals: store, Parts: parts,
	})
	store.Socket().Handle(Word, Handler(l))
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return &world{l, t, store, scheduler.NewLane("-1")}
}

// view is the session of a client.
func view(client string) session.View {
	s := session.New(session.Config{ID: "1", Roots: []string{"/work"}})
	s.SetClient(client)
	return s.View()
}

func (w *world) pend(command string) approval.Item {
	w.t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := w.store.Pend(approval.Request{
		Session: "1", Tool: "Bash", Title: "Run " + command, Dir: "/work", Root: "/work", Input: input, Reason: "a rule asks",
		Subject: approval.Subject{Kind: "command", Value: command, Dir: "/work"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.store.Items(n)[0]
}

// ask returns the answer to a request, or its error with the status.
func (w *world) ask(from Source, op, params string) string {
	w.t.Helper()
	out, err := from.Ask(w.t.Context(), op, json.RawMessage(params))
	var e *Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%d %s", e.Status, e.Error())
	}
	if err != nil {
		w.t.Fatalf("%s %s: %v", op, params, err)
	}
	return string(out)
}

// remote returns the feed as another process has it.
func (w *world) remote() Remote {
	w.t.Helper()
	if err := w.store.Socket().Open(); err != nil {
		w.t.Fatal(err)
	}
	return Remote{w.store.Socket().At()}
}

// TestErrors checks the errors of requests, which have a golden file.
func TestErrors(t *testing.T) {
	w := newWorld(t, Parts{})
	i := w.pend("make")
	var out strings.Builder
	for _, c := range [][2]string{
		{"eat", `{}`},
		{"approval", `{"number":"x"}`},
		{"approval", `{"number":99}`},
		{"approval", `{}`},
		{"decide", `{"number":1,"do":"once"}`},
		{"decide", `{"number":1,"key":"old","do":"once"}`},
		{"decide", `{"number":1,"key":"KEY","do":"perhaps"}`},
		{"decide", `{"number":99,"key":"KEY","do":"deny"}`},
		{"decide", `{"number":1,"key":"KEY","do":"deny","reason":"` + strings.Repeat("x", approval.MaxReason+1) + `"}`},
		{"reply", `{"number":1}`},
		{"reply", `{"number":1,"key":"KEY"}`},
		{"stop", `{}`},
		{"stop", `{"call":1,"task":"x"}`},
		{"stop", `{"call":1}`},
		{"stop", `{"task":"x"}`},
		{"task", `{"id":"x"}`},
		{"session", `{"id":"9"}`},
		{"change", `{"session":"9","n":1}`},
		{"undo", `{"session":"9","n":1}`},
		{"explain", `{}`},
		{"explain", `{"tool":"Bash","input":[]}`},
		{"explain", `{"tool":"Bash","input":null}`},
		{"explain", `{"tool":"Bash"}`},
		{"suggest", `{}`},
		{"audit", `{}`},
	} {
		fmt.Fprintf(&out, "%s %.60s\n  %s\n", c[0], c[1], w.ask(w, c[0], strings.ReplaceAll(c[1], "KEY", i.Key)))
	}
	w.Use(view("c"))
	for _, c := range [][2]string{{"change", `{"session":"1","n":1}`}, {"undo", `{"session":"1","n":1}`}} {
		fmt.Fprintf(&out, "%s %s\n  %s\n", c[0], c[1], w.ask(w, c[0], c[1]))
	}
	if w.store.Waits(request(t, i)) == 0 {
		t.Error("the call no longer waits")
	}
	const name = "testdata/errors.txt"
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("run go test ./console/feed -update (-want +got):\n%s", diff)
	}
}

// request returns the request of an item.
func request(t *testing.T, i approval.Item) approval.Request {
	t.Helper()
	return approval.Request{
		Session: "1", Principal: i.Principal, Tool: i.Tool, Title: i.Title, Dir: i.Dir, Root: i.Root, Input: i.Input, Reason: i.Reason, Subject: i.Subject,
	}
}

// TestDecide checks that an answer is bound to the state that its key names, and that the call then
// runs once.
func TestDecide(t *testing.T) {
	w := newWorld(t, Parts{Explain: func(context.Context, string, string, json.RawMessage) pipeline.Explanation {
		return pipeline.Explanation{
			Parts: []policy.PartDecision{
				{Text: "ls", Behavior: policy.Allow, Reason: "it only reads"},
				{Text: "make", Behavior: policy.Ask, Reason: "the rule asks", Rule: "Bash(make)", Source: "/s.json", Line: 3},
				{Text: "cat /x", Behavior: policy.Allow, Reason: "it only reads"},
			},
			Deciding: []int{1, 2},
		}
	}})
	r := w.remote()
	i := w.pend("ls && make")
	if got, want := w.ask(r, "approval", `{"number":1}`), `"command":[{"text":"ls","needsApproval":false,"why":"it only reads"},{"text":"make","needsApproval":true,"why":"the rule asks (Bash(make) of /s.json:3)"},{"text":"cat /x","needsApproval":true,"why":"a rule asks"}],"kind":"command"}`; !strings.HasSuffix(got, want) {
		t.Errorf("%s", got)
	}
	decide := func(key, do string) string {
		return w.ask(r, "decide", fmt.Sprintf(`{"number":%d,"key":%q,"do":%q,"reason":"no"}`, i.Number, key, do))
	}
	// The preview changes, because the file did.
	changed := request(t, i)
	changed.Preview = "+x"
	if n, err := w.store.Pend(changed); n != i.Number || err != nil {
		t.Fatal(n, err)
	}
	if got := decide(i.Key, "once"); got != "409 approval 1 has changed since it was shown. Look at the list of approvals, then decide." {
		t.Errorf("%s", got)
	}
	i = w.store.Items(1)[0]
	if got := w.ask(r, "approval", `{"number":1}`); !strings.Contains(got, `"preview":"+x"`) || !strings.Contains(got, `"kind":"diff"`) {
		t.Errorf("%s", got)
	}
	if got := decide(i.Key, "once"); got != `{"text":"Approved 1: Bash, Run ls \u0026\u0026 make. The same call, sent again in the next 15 minutes, runs once."}` {
		t.Errorf("%s", got)
	}
	if got := decide(i.Key, "once"); got != "409 approval 1 was approved already; let the model send the same call again. Look at the list of approvals, then decide." {
		t.Errorf("%s", got)
	}
	if w.store.Take(request(t, i)) == 0 || w.store.Take(request(t, i)) != 0 {
		t.Error("the call does not run exactly once")
	}
	if got := decide(i.Key, "deny"); got != "409 approval 1 was approved, and the call was sent again. Look at the list of approvals, then decide." {
		t.Errorf("%s", got)
	}
	i = w.pend("make")
	if got := decide(i.Key, "always"); !strings.HasPrefix(got, `{"text":"Approved 2, and always allowed: Bash, Run make.`) || !w.store.Always("", "Bash", i.Subject, "/work") {
		t.Errorf("%s", got)
	}
	var reason string
	denied := request(t, w.pend("rm"))
	denied.Answered = func(n int, _ approval.Answer, text string) { reason = fmt.Sprint(n, " ", text) }
	if _, err := w.store.Pend(denied); err != nil {
		t.Fatal(err)
	}
	i = w.store.Items(3)[0]
	if got := decide(i.Key, "deny"); got != `{"text":"Declined 3: Bash, Run rm."}` || reason != "3 no" {
		t.Errorf("%s, %s", got, reason)
	}
	if is, wrote := w.store.Declined("1", "Bash", i.Subject); !is || wrote != "no" {
		t.Errorf("%v %q", is, wrote)
	}
}

// TestReply checks that questions are answered.
func TestReply(t *testing.T) {
	w := newWorld(t, Parts{})
	about := approval.Request{
		Session: "1", Tool: "AskUserQuestion", Input: json.RawMessage(`{}`),
		Questions: []question.Question{{Header: "H", Text: "Which?", Options: []question.Option{{Label: "A"}, {Label: "B"}}}},
	}
	n, err := w.store.Pend(about)
	if err != nil {
		t.Fatal(err)
	}
	key := w.store.Items(n)[0].Key
	if got := w.ask(w, "approval", `{"number":1}`); !strings.Contains(got, `"kind":"questions"`) || !strings.Contains(got, `"label":"B"`) {
		t.Errorf("%s", got)
	}
	if got := w.ask(w, "reply", `{"number":1,"key":"`+key+`","answers":[{"choices":["C"]}]}`); got != `400 question 1 has no option "C". Correct the answer, or use another one.` {
		t.Errorf("%s", got)
	}
	if got := w.ask(w, "reply", `{"number":1,"key":"`+key+`","answers":[{"choices":["B"],"other":"soon"}]}`); got != `{"text":"Answered 1."}` {
		t.Errorf("%s", got)
	}
	if got := w.ask(w, "reply", `{"number":1,"key":"`+key+`","answers":[{}]}`); got != "409 question 1 was answered already. Look at the list of approvals, then decide." {
		t.Errorf("%s", got)
	}
	if reply, n := w.store.TakeReply(about); n != 1 || reply.Lines(about.Questions) != "H: B, soon" {
		t.Errorf("%d %+v", n, reply)
	}
}

// watch collects updates until the returned function is called.
func (w *world) watch() (updates chan Update) {
	updates = make(chan Update, 100)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Watch(ctx, func(u Update) error { updates <- u; return nil })
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	return updates
}

// TestCalls checks the updates on a call from its arrival to its end, with the reason of its wait,
// and that it can be stopped.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Parts{})
		w.Use(view("claude"))
		updates := w.watch()
		if s := (<-updates).Server; s == nil || s.Name != "/work" || s.Calls == nil || s.Approvals == nil || s.Tasks == nil || len(s.Sessions) != 1 {
			t.Fatalf("%+v", s)
		}
		run := func(title string, safe bool) (*concurrency.Ticket, chan error) {
			ticket, err := w.lane.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			ticket.Label("Bash", title)
			done := make(chan error, 1)
			go func() {
				var cause error
				err := ticket.Run(t.Context(), func(context.Context) (bool, error) { return safe, nil }, func(ctx context.Context) func() {
					<-ctx.Done()
					cause = context.Cause(ctx)
					ticket.Outcome("cancelled")
					return nil
				})
				done <- errors.Join(err, cause)
			}()
			return ticket, done
		}
		_, first := run("Run a", false)
		_, second := run("Run b", false)
		got := map[uint64]string{}
		settle := func() {
			time.Sleep(tick * 2)
			synctest.Wait()
			for len(updates) > 0 {
				for _, c := range (<-updates).Calls {
					got[c.Number] = fmt.Sprintf("%s %s %s|%s|%s", c.Lane, c.Title, c.Stage, c.Waits, c.Outcome)
				}
			}
		}
		settle()
		want := map[uint64]string{1: "claude Run a running||", 2: "claude Run b waiting|an earlier call: Run a|"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for n, done := range map[int]chan error{2: second, 1: first} {
			if text := w.ask(w, "stop", fmt.Sprintf(`{"call":%d}`, n)); !strings.HasPrefix(text, `{"text":"Asked call `) {
				t.Error(text)
			}
			if err := <-done; !errors.Is(err, pipeline.ErrStopped) {
				t.Errorf("%d: %v", n, err)
			}
		}
		settle()
		if !strings.HasPrefix(got[1], "claude Run a done||cancelled") || !strings.HasPrefix(got[2], "claude Run b done||") {
			t.Errorf("%v", got)
		}
		// A watcher that was away for more calls than are retained gets the whole state.
		for range mostFinished + 1 {
			ticket, err := w.lane.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			if err := ticket.Run(t.Context(), func(context.Context) (bool, error) { return true, nil }, func(context.Context) func() { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(tick * 2)
		synctest.Wait()
		if u := <-updates; u.Server == nil || len(u.Server.Calls) != mostFinished {
			t.Errorf("%+v", u)
		}
	})
}

// TestRemote checks the feed in another process's hands: all of it arrives, and the end of either
// side ends the other.
func TestRemote(t *testing.T) {
	w := newWorld(t, Parts{})
	r := w.remote()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	updates, done := make(chan Update, 100), make(chan error, 1)
	go func() { done <- r.Watch(ctx, func(u Update) error { updates <- u; return nil }) }()
	first := <-updates
	if first.Server == nil || first.Server.ID != r.ID() || first.Server.Version != "v" {
		t.Errorf("%+v", first.Server)
	}
	i := w.pend(strings.Repeat("long ", 100_000)) // longer than a line of the socket
	u := <-updates
	if u.Approvals == nil || len(*u.Approvals) != 1 || (*u.Approvals)[0].Key != i.Key || (*u.Approvals)[0].Size != len(i.Input) {
		t.Errorf("%+v", u)
	}
	var shown Shown
	if err := json.Unmarshal([]byte(w.ask(r, "approval", `{"number":1}`)), &shown); err != nil || shown.Input != string(i.Input) {
		t.Errorf("%v, %d bytes", err, len(shown.Input))
	}
	if got := w.ask(r, "explain", `{"tool":"T","input":"`+strings.Repeat("x", maxParams)+`"}`); got != "400 a request has at most 4194304 bytes. Make it shorter." {
		t.Errorf("%s", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go func() { done <- r.Watch(t.Context(), func(u Update) error { updates <- u; return nil }) }()
	<-updates
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("no error at the end of the server")
	}
	if got := w.ask(r, "policy", `{}`); !strings.HasPrefix(got, "404 the server does not answer: ") {
		t.Errorf("%s", got)
	}
}

// TestMalformed checks that other text on the socket has no effect, and that a refused peer gets
// nothing.
func TestMalformed(t *testing.T) {
	w := newWorld(t, Parts{})
	r := w.remote()
	for text, want := range map[string]string{
		"feed\n":              "the message is not understood",
		"feed policy\n":       "the message is not understood",
		"feed policy -1\n":    "a request has at most 4194304 bytes",
		"feed policy x\n":     "a request has at most 4194304 bytes",
		"feed policy 1\nxxxx": "the request cannot be read: ",
	} {
		conn, err := socket.Dial(t.Context(), r.Folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var a response
		if err := json.NewDecoder(conn).Decode(&a); err != nil || a.Error == nil || !strings.HasPrefix(a.Error.Fact, want) {
			t.Errorf("%q: %+v, %v", text, a.Error, err)
		}
		conn.Close()
	}
	p := &socket.Peer{Line: []byte("feed policy 0\n"), Refused: errors.New("refused")}
	_, _, err := readRequest(p)
	if got := err.Error(); got != "refused. Start the console in a terminal of your own." {
		t.Errorf("%s", got)
	}
}

// TestWatchers checks the limit of watchers, and that requests are answered beside the most.
func TestWatchers(t *testing.T) {
	w := newWorld(t, Parts{})
	r := w.remote()
	ctx, cancel := context.WithCancel(t.Context())
	begun, done := make(chan bool, maxWatchers), make(chan error, maxWatchers)
	for range maxWatchers {
		go func() { done <- r.Watch(ctx, func(Update) error { begun <- true; return nil }) }()
		<-begun
	}
	err := r.Watch(ctx, func(Update) error { return errors.New("began") })
	if err == nil || err.Error() != "8 consoles watch this server already. Close one of them." {
		t.Errorf("%v", err)
	}
	w.ask(r, "policy", `{}`)
	cancel()
	for range maxWatchers {
		<-done
	}
}

// TestSession checks the description of a session.
func TestSession(t *testing.T) {
	w := newWorld(t, Parts{
		Journal: journal.New(), Events: event.New(),
		Work: func(context.Context, session.View) ([]worklist.Item, error) {
			return []worklist.Item{{ID: 1, Subject: "test", Status: worklist.Pending, Owner: "me"}}, nil
		},
	})
	v := view("claude")
	w.Use(v)
	w.Journal.Add(v.Owner(), journal.Entry{Tool: "Edit", Title: "Edit a", Path: "/work/a", Outcome: "ok", Agreed: true})
	w.Journal.Add(v.Owner(), journal.Entry{Tool: "Read", Title: "Read b", Path: "/work/b", ReadOnly: true, Outcome: "ok"})
	w.Events.Add(v.Owner(), event.Event{Source: "task a", Text: "ended"})
	w.Events.Take(v.Owner())
	w.Events.Add(v.Owner(), event.Event{Source: "task b", Text: "line", Data: true})
	list := w.list()
	if len(list) != 1 || list[0].Client != "claude" || list[0].Calls != 2 || list[0].Files != 1 || list[0].Root != "/work" {
		t.Errorf("%+v", list)
	}
	got := w.ask(w, "session", `{"id":"1"}`)
	for _, want := range []string{
		`"tool":"Edit","title":"Edit a","path":"/work/a","readOnly":false,"outcome":"ok","reason":"","agreed":true`, `"source":"task a","text":"ended","data":false`, `"source":"task b","text":"line","data":true`,
		`"work":[{"id":1,"subject":"test","status":"pending","owner":"me"}]`, `"changes":[]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	w.Forget(v.Owner())
	if len(w.list()) != 0 {
		t.Error("an ended session is listed")
	}
}

// TestSuggest checks which rules are suggested.
func TestSuggest(t *testing.T) {
	var entries []audit.Entry
	agreed := func(n int, tool, input string) {
		for range n {
			entries = append(entries, audit.Entry{Tool: tool, Input: json.RawMessage(input), Outcome: audit.OK, Decision: audit.Decision{Behavior: "allow", Layer: "approval"}})
		}
	}
	bash := func(n int, command string) { agreed(n, "Bash", fmt.Sprintf(`{"command":%q}`, command)) }
	bash(2, "git push origin main")
	bash(1, "git push origin dev")
	bash(1, "make once")
	bash(3, "make; rm x")
	bash(3, "cat *.txt")
	bash(3, "allowed already x")
	bash(2, "rm -rf a b")
	bash(1, "rm -rf a c")
	for _, begin := range []string{"go run", "npx tool", "git config"} {
		for _, end := range []string{"a", "b", "c"} {
			bash(1, begin+" "+end)
		}
	}
	agreed(2, "Write", `{"file_path":"/out/a.txt","content":"x"}`)
	agreed(2, "WebFetch", `{"url":"https://Example.com:443/x"}`)
	agreed(2, "Bash", `{"command":"curl -H [redacted] x"}`)
	agreed(2, "mcp__s__t", `{"a":1}`)
	agreed(1, "mcp__s__t", `{"prompt":"2"}`)
	agreed(3, "mcp__s__same", `{"a":1}`)
	for i := range 3 {
		agreed(1, "mcp__s__u", fmt.Sprintf(`{"a":%d}`, i))
	}
	entries = append(entries, audit.Entry{Tool: "Bash", Input: json.RawMessage(`{"command":"make once"}`), Outcome: audit.OK, Decision: audit.Decision{Behavior: "allow", Layer: "default"}})
	w := newWorld(t, Parts{
		AddTo: "/home/u/settings.json",
		Audit: func(audit.Query) (audit.Found, error) { return audit.Found{Entries: slices.Clone(entries)}, nil },
		Explain: func(_ context.Context, _, _ string, input json.RawMessage) pipeline.Explanation {
			d := policy.Decision{Behavior: policy.Ask, Layer: policy.LayerDefault}
			if strings.Contains(string(input), "allowed already") {
				d.Behavior = policy.Allow
			}
			return pipeline.Explanation{Decision: d}
		},
	})
	var got Suggestions
	if err := json.Unmarshal([]byte(w.ask(w, "suggest", `{}`)), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range got.Rules {
		lines = append(lines, fmt.Sprintf("%d %s of %s", r.Count, r.Rule, strings.Join(r.Calls, ", ")))
		if r.File != "/home/u/settings.json" || !strings.Contains(r.Settings, "\n      \""+r.Rule+"\"\n") {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"3 Bash(git push *) of git push origin main, git push origin dev", "3 mcp__s__t of {\"a\":1}, 2", `3 mcp__s__u of {"a":0}, {"a":1}, {"a":2}`,
		"2 Bash(git push origin main) of git push origin main", "2 Bash(rm -rf a b) of rm -rf a b", "2 Edit(//out/a.txt) of /out/a.txt", "2 WebFetch(domain:example.com) of https://Example.com:443/x",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := new(Ring)
	for range b.N {
		r.Add(concurrency.Record{})
	}
}
