package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/session"
)

// TestTasks checks which progress an answer waits for, and for how long: work that has a
// name, until 60 s after it began, once.
func TestTasks(t *testing.T) {
	const broken = "fake reports: Error loading workspace: go.mod:3: unknown directive"
	for _, c := range []struct {
		name, title, message string
		took                 time.Duration // of the first question
		notes                [2]string
	}{
		{"without a name", "", "1 file to analyze", 0, [2]string{}},
		{"an error", "Error loading workspace:", "go.mod:3: unknown directive", 0, [2]string{broken, broken}},
		{"work without end", "Indexing", "", time.Minute, [2]string{"fake is still busy (Indexing), so this may be incomplete", "fake is still busy (Indexing), so this may be incomplete"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
					if method == "initialized" {
						f.notify("$/progress", map[string]any{"token": 1, "value": map[string]any{"kind": "begin", "title": c.title, "message": c.message}})
					}
					return defines(f, method, params)
				}))
				for i := range 2 {
					begin := time.Now()
					_, note, err := w.define()
					if took := time.Since(begin).Round(time.Second); err != nil || note != c.notes[i] || took != c.took {
						t.Errorf("%v: %q, %v", took, note, err)
					}
					c.took = 0
				}
			})
		})
	}
}

// TestComplaints checks that a failure has what the server reported as an error by itself.
func TestComplaints(t *testing.T) {
	for want, notify := range map[string]func(f *fake){
		"no package; it reports: no module found": func(f *fake) {
			f.notify("window/showMessage", map[string]any{"type": 1, "message": "no module\nfound"})
		},
		"no package": func(f *fake) {
			f.notify("window/logMessage", map[string]any{"type": 3, "message": "started"})
		},
		"no package; it reports: " + strings.Repeat("x", maxTitle) + "…": func(f *fake) {
			f.notify("window/logMessage", map[string]any{"type": 1, "message": strings.Repeat("x", 10_000)})
		},
	} {
		w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
			if method == "textDocument/definition" {
				notify(f)
			}
			return nil
		}), func(_ *Config, f *fake) { f.fails = "no package" })
		if _, _, err := w.define(); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
}

// TestRecovers checks that a request that fails just after a change is repeated when the
// server has had time to read the project again.
func TestRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script(all, defines), func(_ *Config, f *fake) { f.fails = "no package" })
		if _, _, err := w.define(); err == nil || err.Error() != "no package" {
			t.Error(err)
		}
		w.write("b.x", "repaired")
		f := w.last()
		go func() {
			time.Sleep(settleOthers / 2)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fails = ""
		}()
		if list, _, err := w.define(); err != nil || len(list) != 1 {
			t.Error(list, err)
		}
	})
}

// TestEndWhileWaiting checks that each wait ends with the server.
func TestEndWhileWaiting(t *testing.T) {
	for name, wait := range map[string]func(*world, *Client) error{
		"a task": func(w *world, c *Client) error {
			w.last().notify("$/progress", map[string]any{"token": 1, "value": map[string]any{"kind": "begin", "title": "Indexing"}})
			_, err := c.Ask(w.t.Context(), "textDocument/definition", At(w.path("a.x"), Position{}), new(json.RawMessage))
			return err
		},
		"diagnostics": func(w *world, c *Client) error {
			text, info := w.text("a.x")
			_, _, err := c.Diagnostics(w.t.Context(), w.path("a.x"), w.path("a.x"), text, info)
			return err
		},
		"diagnostics of others": func(w *world, c *Client) error {
			c.settleOthers(w.t.Context())
			return c.Announce(w.t.Context())
		},
		"the turn": func(w *world, c *Client) error {
			c.order <- struct{}{}
			return c.Announce(w.t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any { return nil }))
				c, _, err := w.open("a.x")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				begin := time.Now()
				go func() {
					time.Sleep(50 * time.Millisecond)
					w.last().exit()
				}()
				if err := wait(w, c); name != "diagnostics of others" && !HasEnded(err) || time.Since(begin) > endTime {
					t.Error(time.Since(begin), err)
				}
			})
		})
	}
}

// TestSilent checks that a server that sends nothing is ended a minute after it was asked,
// and started again, and that callers who give up need not wait for it.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers atomic.Bool
		w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
			if method == "textDocument/definition" && !answers.Load() {
				return silence{}
			}
			return defines(f, method, params)
		}))
		begin := time.Now()
		c, _, err := w.open("a.x")
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		for range 3 { // none waits for as long as the server may be silent
			ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, gone)
			if _, err := c.Ask(ctx, "textDocument/definition", At(w.path("a.x"), Position{}), new(json.RawMessage)); !errors.Is(err, gone) {
				t.Error(err)
			}
			cancel()
		}
		_, _, err = w.define()
		if took := time.Since(begin); err == nil || err.Error() != "it was stopped since it had sent nothing for 1m0s after it was asked" || took > 65*time.Second {
			t.Error(took, err)
		}
		answers.Store(true)
		synctest.Wait()
		if list, _, err := w.define(); err != nil || len(list) != 1 || w.started() != 2 {
			t.Error(list, err, w.started())
		}
	})
}

// TestOneDeadline checks that several requests of a question have one timeout, of a server
// that always begins something while it answers.
func TestOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
			if method == "textDocument/definition" {
				n++
				f.notify("$/progress", map[string]any{"token": n, "value": map[string]any{"kind": "begin", "title": "Indexing"}})
				time.Sleep(50 * time.Second)
				f.notify("$/progress", map[string]any{"token": n, "value": map[string]any{"kind": "end"}})
			}
			return defines(f, method, params)
		}))
		c, _, err := w.open("a.x")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ctx, cancel := Limit(t.Context())
		defer cancel()
		if _, err := c.Ask(ctx, "textDocument/definition", At(w.path("a.x"), Position{}), new(json.RawMessage)); err == nil || err.Error() != "it did not answer within 2m0s" || time.Since(begin) != questionTime {
			t.Error(time.Since(begin), err)
		}
		time.Sleep(time.Minute)
	})
}

// TestWorktree checks that the sessions in a git worktree have servers of their own, which start
// with their workspace and the trust of the checkout, and end when they leave it.
func TestWorktree(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "node_modules/.bin/fake-ls")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{program: 0o755, folder + "/x.toml": 0o644, folder + "/a.x": 0o644} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, script(all, defines), func(c *Config, _ *fake) {
		root := slices.Clone(c.Roots)
		c.Trusted = func(r string) bool { return slices.Contains(root, r) }
	})
	var launched []Launch
	start := w.manager.config.Start
	w.manager.config.Start = func(ctx context.Context, l Launch) (Process, error) {
		launched = append(launched, l)
		return start(ctx, l)
	}
	in := Workspace{Roots: []string{folder}, Worktree: &session.Worktree{Folder: folder, Main: w.root}}
	ask := func(in Workspace, path string) *Client {
		t.Helper()
		c, done, err := w.manager.For(t.Context(), in, path)
		if err != nil {
			t.Fatal(err)
		}
		done()
		return c
	}
	main, own := ask(Workspace{}, w.path("a.x")), ask(in, folder+"/a.x")
	if main == own || main.Root != w.root || own.Root != folder || len(launched) != 2 || launched[0].In.Worktree != nil || launched[1].In.Worktree != in.Worktree {
		t.Errorf("%s and %s: %+v", main.Root, own.Root, launched)
	}
	if launched[0].Args[0] != "/bin/fake-ls" || launched[1].Args[0] != program || launched[1].Root != folder {
		t.Errorf("%+v", launched)
	}
	if ask(in, w.path("a.x")) != own || ask(Workspace{}, folder+"/a.x") != main {
		t.Error("a file of the other workspace: not the own server")
	}
	w.manager.EndIn(folder)
	if r := w.manager.Running(); len(r) != 1 || r[0].Root != w.root {
		t.Errorf("after the end: %+v", r)
	}
	if ask(in, folder+"/a.x") == own {
		t.Error("the server has not ended")
	}
}

// TestEndInStart checks that the end of a worktree's servers does not wait for a handshake.
func TestEndInStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(*fake, string, json.RawMessage) any { return silence{} })
		in := Workspace{Roots: []string{w.root}, Worktree: &session.Worktree{Folder: w.root}}
		failed := make(chan error)
		go func() {
			_, _, err := w.manager.For(t.Context(), in, w.path("a.x"))
			failed <- err
		}()
		synctest.Wait()
		begin := time.Now()
		go w.manager.EndIn(w.root)
		const want = "fake does not start: the session has left the worktree. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."
		if err := <-failed; err == nil || err.Error() != want || time.Since(begin) > time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		_ = w.manager.Close()
	})
}

// TestRoots checks that a server gets the changes in other projects and roots, which the
// servers of a workspace find in one listing.
func TestRoots(t *testing.T) {
	second := t.TempDir()
	w := newWorld(t, script(all, func(*fake, string, json.RawMessage) any { return []any{} }), func(c *Config, _ *fake) { c.Roots = append(c.Roots, second) })
	for _, dir := range []string{"p", "q"} {
		if err := os.Mkdir(w.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		w.write(dir+"/x.toml", "")
		w.write(dir+"/b.x", "")
	}
	var clients []*Client
	for _, dir := range []string{"p", "q"} {
		c, _, err := w.open(dir + "/b.x")
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	if n := len(w.manager.trees.open); n != 2 {
		t.Error(n, "listings of 2 roots")
	}
	w.write("q/b.x", "changed")
	if err := os.WriteFile(second+"/new.x", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range clients {
		if err := c.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = c.send(t.Context(), "x", nil, nil)
		want := []string{"q/b.x 2", "new.x 1"}
		if got := w.fakes[i].told(w.root, second); !slices.Equal(got, want) {
			t.Errorf("server %d got the changes %q", i, got)
		}
	}
	if err := os.RemoveAll(second); err != nil {
		t.Fatal(err)
	}
	if err := clients[0].Announce(t.Context()); err != nil {
		t.Error("after the end of a root:", err)
	}
	_ = clients[0].send(t.Context(), "x", nil, nil)
	if got := w.fakes[0].told(w.root, second); !slices.Contains(got, "new.x 3") {
		t.Errorf("the server got the changes %q", got)
	}
	_ = w.manager.Close()
	if n := len(w.manager.trees.open); n != 0 {
		t.Error(n, "listings after Close")
	}
}

// TestBounds checks the limits of what a server sends by itself.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 5000)
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		if method != "textDocument/definition" {
			return nil
		}
		list := func(n int) (out []any) {
			for range n {
				out = append(out, map[string]any{"message": long, "severity": 1})
			}
			return out
		}
		f.notify("textDocument/publishDiagnostics", map[string]any{"uri": "file:///long", "diagnostics": list(100)})
		for i := range 45 {
			f.notify("textDocument/publishDiagnostics", map[string]any{"uri": fmt.Sprint("file:///", i), "diagnostics": list(60)})
			f.notify("$/progress", map[string]any{"token": i, "value": map[string]any{"kind": "begin", "title": "Error " + long}})
			f.notify("$/progress", map[string]any{"token": long, "value": map[string]any{"kind": "begin", "title": long}})
			f.notify("window/logMessage", map[string]any{"type": 1, "message": long})
		}
		for i := range 20 {
			f.request("client/registerCapability", map[string]any{"registrations": []any{map[string]any{"id": fmt.Sprint(i), "method": "workspace/didChangeWatchedFiles",
				"registerOptions": map[string]any{"watchers": slices.Repeat([]any{map[string]any{"globPattern": "**/" + long[:1000]}}, 50)}}}})
		}
		return defines(f, method, params)
	}))
	if _, _, err := w.define(); err != nil {
		t.Fatal(err)
	}
	c, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size, patterns := 0, 0
	for _, p := range c.published {
		if n := p.list.size(); n > maxFoundBytes {
			t.Error("a file has", n, "bytes of diagnostics")
		}
		size += p.list.size()
	}
	for _, r := range c.registered {
		patterns += r.size()
	}
	if size != c.publishedBytes || size > maxPublishedBytes || len(c.published) < 5 || !c.forgot {
		t.Error(len(c.published), "files with", size, "bytes of diagnostics,", c.publishedBytes, "counted")
	}
	if patterns != c.patternBytes || patterns > maxPatternBytes || patterns < maxPatternBytes/2 {
		t.Error(patterns, "bytes of patterns,", c.patternBytes, "counted")
	}
	for _, text := range c.broken {
		if len(text) > maxTitle+3 {
			t.Error("a text has", len(text), "bytes")
		}
	}
	if len(c.broken) > maxTasks || len(c.tasks) > 0 || len(c.complaint.text) > maxTitle+3 {
		t.Error(len(c.broken), len(c.tasks), len(c.complaint.text))
	}
}
