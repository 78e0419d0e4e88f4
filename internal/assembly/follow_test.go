package assembly

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// followed is a server whose settings file a test changes.
type followed struct {
	t          testing.TB
	a          *Assembly
	plan       *Plan
	judge      func(context.Context, string, classifier.Prompt) (string, error)
	root, file string
}

func newFollowed(t testing.TB, text string) *followed {
	t.Helper()
	home := t.TempDir()
	f := &followed{t: t, root: t.TempDir(), file: filepath.Join(home, "s.json")}
	f.write(text)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(f.root, name), []byte("word\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"MCP_TOOLSET_STATE_DIR": filepath.Join(home, "state"), "PATH": os.Getenv("PATH")}
	p := NewPlan(Options{
		Environment: Environment{Getenv: func(k string) string { return env[k] }, Environ: os.Environ, Home: home, Dir: f.root},
		Log:         slog.New(slog.DiscardHandler), Roots: []string{f.root}, Settings: f.file, Untried: true, Sandbox: command.Off, MaxConcurrency: 8,
	})
	if err := p.Prepare(); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.a, err = p.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.plan, f.judge = p, p.Judge
	t.Cleanup(func() { _ = f.a.Close() })
	return f
}

func (f *followed) write(text string) {
	if err := os.WriteFile(f.file, []byte(text), 0o600); err != nil {
		f.t.Error(err)
	}
}

// replace writes the file as an editor does: a new file, renamed.
func (f *followed) replace(text string) {
	if err := os.WriteFile(f.file+".new", []byte(text), 0o600); err != nil {
		f.t.Error(err)
	}
	if err := os.Rename(f.file+".new", f.file); err != nil {
		f.t.Error(err)
	}
}

// client returns a function that makes calls in a session of its own.
func (f *followed) client() func(tool, args string) string {
	s := session.New(session.Config{ID: "x", Roots: f.a.Server.Roots.Paths()})
	lane := f.a.Scheduler.NewLane("")
	return func(tool, args string) string {
		ticket, err := lane.Arrive()
		if err != nil {
			return err.Error()
		}
		resp, err := f.a.pipeline.Run(f.t.Context(), pipeline.Request{Tool: tool, Arguments: json.RawMessage(args), Session: s, Ticket: ticket, Log: f.a.log})
		if err != nil {
			return "error: " + err.Error()
		}
		var b strings.Builder
		for _, c := range resp.Content {
			if text, ok := c.(tools.Text); ok {
				b.WriteString(text.Text + "\n")
			}
		}
		return b.String()
	}
}

// denying returns settings that deny reading one file. All have the same size.
func denying(name string) string {
	return fmt.Sprintf(`{"permissions":{"deny":["Read(//**/%s)"]}}`, name)
}

const searchWord = `{"pattern":"word","output_mode":"files_with_matches"}`

// TestFollow checks that each change holds with the next call, and that calls that run meanwhile
// are judged by one state of the settings: each search finds one of two files, of which the rules
// always deny one. Files that cannot be parsed change nothing.
func TestFollow(t *testing.T) {
	f := newFollowed(t, denying("a.txt"))
	var busy sync.WaitGroup
	var over atomic.Bool
	var searched atomic.Int64
	for range 2 {
		busy.Go(func() {
			call := f.client()
			for !over.Load() {
				got := call("Grep", searchWord)
				if strings.Contains(got, "a.txt\n") == strings.Contains(got, "b.txt\n") {
					t.Errorf("a mixture: %s", got)
					return
				}
				searched.Add(1)
			}
		})
	}
	call, denied := f.client(), "a.txt"
	for i := range testscale.N(60, 1000) {
		switch i % 4 {
		case 0, 2:
			denied = []string{"b.txt", "", "a.txt"}[i%4]
			f.replace(denying(denied))
		case 1:
			f.write(`{"permissions":{"deny":[`)
		case 3:
			f.write("")
		}
		got := call("Grep", searchWord)
		if strings.Contains(got, denied+"\n") || !strings.Contains(got, ".txt\n") {
			t.Errorf("change %d denies %s: %s", i, denied, got)
		}
		if t.Failed() {
			break
		}
	}
	over.Store(true)
	busy.Wait()
	if searched.Load() == 0 && !t.Failed() {
		t.Error("nothing was searched meanwhile")
	}
}

// TestFollowTaking checks that no check takes changed settings for held before their rules hold.
func TestFollowTaking(t *testing.T) {
	f := newFollowed(t, denying("a.txt"))
	w, taken := f.a.follower, 0
	stamp := func() settings.Stamp { return settings.StampOf(w.places, time.Now()) }
	w.mu.Lock()
	take := w.Taken
	w.Taken = func(found *settings.Found) []*tools.Tool {
		if taken++; w.stamp.Load().Same(stamp()) {
			t.Error("a check would return while the rules are being replaced")
		}
		return take(found)
	}
	w.mu.Unlock()
	f.replace(denying("b.txt"))
	for s := stamp(); !s.Same(s); s = stamp() { // the file could still change without another stamp
	}
	w.check()
	if taken != 1 || !w.stamp.Load().Same(stamp()) {
		t.Errorf("taken over %d times", taken)
	}
}

// TestFollowNotices checks that the next answer names settings that do not hold, once.
func TestFollowNotices(t *testing.T) {
	f := newFollowed(t, denying("a.txt"))
	call, other := f.client(), f.client()
	const read = `{"file_path":"b.txt"}`
	for _, tc := range []struct{ text, want string }{
		{denying("a.txt"), ""},
		{`{"permissions":`, "[The settings have changed and cannot be used, so the earlier ones still hold: parsing settings "},
		{denying("a.txt"), ""},
		{denying("c.txt"), ""},
		{`{"sandbox":{"network":"deny"},"taskList":"x"}`, "[The settings have changed. The new values of sandbox.network, taskList hold after a new start of the server. Tell the user.]"},
		{`{"permissions":{"allow":["Bash(ls)"]}}`, ""},
	} {
		f.write(tc.text)
		for _, c := range []func(string, string) string{call, other} {
			got := c("Read", read)
			if tc.want == "" && strings.Contains(got, "[The settings") || !strings.Contains(got, tc.want) {
				t.Errorf("%s:\n got %s\nwant %s", tc.text, got, tc.want)
			}
			if again := c("Read", read); strings.Contains(again, "[The settings") {
				t.Errorf("%s: again %s", tc.text, again)
			}
		}
	}
}

// TestFollowTools checks that a rule on a whole tool removes it from the list, and back.
func TestFollowTools(t *testing.T) {
	f := newFollowed(t, `{}`)
	changes := 0
	f.a.Registry.OnChange(func() { changes++ })
	call := f.client()
	for i, text := range []string{`{"permissions":{"deny":["Glob"]}}`, `{}`} {
		f.write(text)
		call("Read", `{"file_path":"b.txt"}`)
		got := call("Glob", `{"pattern":"*.txt"}`)
		if gone := strings.HasPrefix(got, "error: "); gone != (i == 0) || changes != i+1 {
			t.Errorf("%s: %d changes, %s", text, changes, got)
		}
	}
}

// BenchmarkFollow measures what a call costs more because the settings are followed.
func BenchmarkFollow(b *testing.B) {
	f := newFollowed(b, `{}`)
	for f.a.follower.check(); !f.a.follower.stamp.Load().Same(settings.StampOf(f.a.follower.places, time.Now())); {
		f.a.follower.check() // the files are too new
	}
	for b.Loop() {
		f.a.follower.check()
	}
}

// TestFollowServices checks that web search and models follow the settings, and what needs a new
// start.
func TestFollowServices(t *testing.T) {
	const model = `"models":{"default":{"provider":"command","model":"m","command":["cat",%q]}}`
	answer := func(text string) string {
		file := filepath.Join(t.TempDir(), "answer")
		if err := os.WriteFile(file, []byte(`{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"`+text+`"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(model, file)
	}
	f := newFollowed(t, "{"+answer("one")+"}")
	call, judge := f.client(), f.judge
	if judge == nil {
		t.Fatal("no model")
	}
	for _, tc := range []struct{ text, model, search, note string }{
		{`{` + answer("two") + `}`, "two", "no search provider is configured", ""},
		{`{` + answer("two") + `,"webSearch":{"provider":"searxng","url":"http://127.0.0.1:1"}}`, "two", "127.0.0.1:1", ""},
		{`{` + answer("two") + `,"webSearch":{"provider":"searxng","url":"http://127.0.0.1:2"}}`, "two", "127.0.0.1:2", ""},
		{`{` + answer("three") + `,"webSearch":{"provider":"brave","keyEnv":"K"}}`, "three", "127.0.0.1:2", "webSearch.keyEnv, webSearch.provider"},
		{`{}`, "three", "no search provider is configured", "models.default.command, models.default.model, models.default.provider"},
	} {
		f.write(tc.text)
		got := call("Read", `{"file_path":"b.txt"}`)
		if want := "The new values of " + tc.note + " hold after a new start"; strings.Contains(got, "The new values") != (tc.note != "") || tc.note != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %s", tc.text, got)
		}
		if got := call("WebSearch", `{"query":"the words"}`); !strings.Contains(got, tc.search) {
			t.Errorf("%s: %s", tc.text, got)
		}
		if got, err := judge(t.Context(), "default", classifier.Prompt{Text: "x"}); got != tc.model || err != nil {
			t.Errorf("%s: %s, %v", tc.text, got, err)
		}
	}
}

// TestFollowRules checks that the console shows the rules in force and the state of the settings.
func TestFollowRules(t *testing.T) {
	f := newFollowed(t, denying("a.txt"))
	rules := func() string {
		var b strings.Builder
		for _, r := range f.plan.rules() {
			fmt.Fprintf(&b, "%s %s %s;", r.Effect, r.Rule, r.Layer)
		}
		return b.String()
	}
	for _, tc := range []struct{ text, rules, problem, starts string }{
		{denying("b.txt"), "deny Read(//**/b.txt) command line;", "", ""},
		{`{"permissions":`, "deny Read(//**/b.txt) command line;", "the file ends too early", ""},
		{`{"taskList":"x"}`, "", "", "taskList"},
		{`{}`, "", "", ""},
	} {
		f.write(tc.text)
		held := f.a.follower.holding()
		if got := rules(); got != tc.rules {
			t.Errorf("%s: %s", tc.text, got)
		}
		if (tc.problem == "") != (held.Problem == "") || !strings.Contains(held.Problem, tc.problem) || strings.Join(held.NeedStart, ", ") != tc.starts {
			t.Errorf("%s: %+v", tc.text, held)
		}
		found, err := f.plan.Follow.Find()
		if err == nil && found.Digest() != held.Digest {
			t.Errorf("%s: the digest is %s, not %s", tc.text, held.Digest, found.Digest())
		}
	}
}
