package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const all = `{"definitionProvider": true, "textDocumentSync": 1}`

// defines answers each request for a definition with one place.
func defines(f *fake, method string, _ json.RawMessage) any {
	if method == "textDocument/definition" {
		return []any{map[string]any{"targetUri": "file:///a%20b.x", "targetSelectionRange": Range{Position{1, 2}, Position{1, 3}}}}
	}
	return nil
}

func TestDefinition(t *testing.T) {
	w := newWorld(t, script(all, defines))
	list, note, err := w.define()
	if err != nil || note != "" || len(list) != 1 || list[0].Path() != filepath.FromSlash("/a b.x") || list[0].Range.Start != (Position{1, 2}) {
		t.Fatal(list, note, err)
	}
	want := []string{"initialize", "initialized", "workspace/didChangeConfiguration", "textDocument/didOpen a.x", "textDocument/definition a.x"}
	got := slices.DeleteFunc(w.last().methods(), func(m string) bool { return m == "workspace/didChangeWatchedFiles" }) // the files are new
	if !slices.Equal(got, want) {
		t.Errorf("the server got %q, not %q", got, want)
	}
	if _, _, err := w.define(); err != nil || w.started() != 1 {
		t.Error("another server started, or", err)
	}
}

// TestRequestsOfServers checks the answers to requests of a server that waits for them.
func TestRequestsOfServers(t *testing.T) {
	answers := map[string]string{}
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		if method != "textDocument/definition" {
			return nil
		}
		for _, m := range []string{"client/registerCapability", "window/workDoneProgress/create", "workspace/applyEdit", "workspace/unknown", "window/showMessageRequest"} {
			answers[m] = string(f.request(m, map[string]any{"registrations": []any{}}))
		}
		answers["workspace/configuration"] = string(f.request("workspace/configuration", map[string]any{"items": []any{map[string]any{"section": "a.b"}, map[string]any{"section": "c"}}}))
		answers["too many sections"] = string(f.request("workspace/configuration", map[string]any{"items": make([]struct{}, maxSections+1)}))
		answers["workspace/workspaceFolders"] = string(f.request("workspace/workspaceFolders", nil))
		return nil
	}), func(c *Config, _ *fake) {
		s := fakeServer
		s.Settings = raw(`{"a": {"b": [1]}}`)
		c.Servers = []Server{s}
	})
	if _, _, err := w.define(); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{
		"client/registerCapability": "null", "window/workDoneProgress/create": "null", "window/showMessageRequest": "null",
		"workspace/applyEdit":        `{"applied":false,"failureReason":"changes are only previewed here"}`,
		"workspace/unknown":          `{"code":-32601,"message":"not supported"}`,
		"workspace/configuration":    `[[1],null]`,
		"too many sections":          "[" + strings.TrimSuffix(strings.Repeat(`{"a":{"b":[1]}},`, maxSections), ",") + "]",
		"workspace/workspaceFolders": fmt.Sprintf(`[{"name":%q,"uri":%q}]`, filepath.Base(w.root), URIOf(w.root)),
	} {
		if answers[method] != want {
			t.Errorf("%s is answered %s, not %s", method, answers[method], want)
		}
	}
}

// TestBadServers checks the errors of servers that do not work, and that the next call is not
// affected by the last one.
func TestBadServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*fake, string, json.RawMessage) any
		deaf   bool
		want   string
	}{
		{"no answer to initialize", func(*fake, string, json.RawMessage) any { return silence{} }, false,
			"fake does not start: it did not answer initialize within 45s. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"garbage", func(f *fake, _ string, _ json.RawMessage) any {
			_, _ = io.WriteString(f.out, "hello\nworld\n")
			return silence{}
		}, false, "fake does not start: it ended: it sent something else than messages of the protocol. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"a message that is too long", func(f *fake, _ string, _ json.RawMessage) any {
			_, _ = io.WriteString(f.out, "Content-Length: 99999999999\r\n\r\n")
			return silence{}
		}, false, "fake does not start: it ended: it sent a message with a length that is not between 1 and 16777216 bytes. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"an end at the start", func(f *fake, _ string, _ json.RawMessage) any {
			_, _ = io.WriteString(f.err, "no config\n")
			f.exit()
			return silence{}
		}, false, "fake does not start: it ended: it exited with code 3; its last words were no config. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"last words after the end", func(f *fake, _ string, _ json.RawMessage) any {
			f.once.Do(func() {
				_ = f.out.Close()
				close(f.ended)
			})
			time.Sleep(100 * time.Millisecond)
			_, _ = io.WriteString(f.err, "no config\n")
			_ = f.err.Close()
			return silence{}
		}, false, "fake does not start: it ended: it exited with code 3; its last words were no config. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"another encoding", func(*fake, string, json.RawMessage) any {
			return map[string]any{"capabilities": map[string]any{"positionEncoding": "utf-32"}}
		}, false, "fake does not start: it counts columns in utf-32, which is not supported. Use Grep and Read; ask the user to run fake-ls by hand to see what is wrong."},
		{"no answer", script(all, func(_ *fake, method string, _ json.RawMessage) any { return silence{} }), false, "it did not answer textDocument/definition within 1m0s"},
		{"no reading", script(all, defines), true, "it did not answer textDocument/definition within 1m0s"},
		{"an end during the request", script(all, func(f *fake, method string, _ json.RawMessage) any {
			if method == "textDocument/definition" {
				f.exit()
			}
			return silence{}
		}), false, "it ended: it exited with code 3"},
		{"an answer of a wrong type", script(all, func(*fake, string, json.RawMessage) any { return "x" }), false, "json: cannot unmarshal string into Go value of type []lsp.locationOrLink"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.script, func(_ *Config, f *fake) { f.deaf = c.deaf })
				begin := time.Now()
				_, _, err := w.define()
				if err == nil || err.Error() != c.want {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(begin); took > 2*time.Minute {
					t.Error("it took", took)
				}
				if err := w.manager.Close(); err != nil {
					t.Error(err)
				}
				select {
				case <-w.last().ended:
				default:
					t.Error("the server runs after Close")
				}
			})
		})
	}
}

// TestRestart checks that a server that ends is started again, after growing pauses, three
// times in ten minutes.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script(all, func(f *fake, method string, _ json.RawMessage) any {
			if method == "textDocument/definition" {
				f.exit()
			}
			return silence{}
		}))
		begin := time.Now()
		for range 3 {
			if _, _, err := w.define(); err == nil || err.Error() != "it ended: it exited with code 3" {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if pause := time.Since(begin); pause < 1500*time.Millisecond || pause > 5*time.Second {
			t.Error("the pauses were", pause)
		}
		const want = "fake ended 3 times within 10 minutes; the last time, it exited with code 3. Use Grep and Read; try again in 10 minutes, or ask the user to look at it."
		if _, _, err := w.define(); err == nil || err.Error() != want || w.started() != 3 {
			t.Error(w.started(), "servers started, and the error is", err)
		}
		time.Sleep(endsTime)
		if _, _, err := w.define(); err == nil || w.started() != 4 {
			t.Error(w.started(), "servers started, and the error is", err)
		}
	})
}

// TestFloods checks that a server that writes without end, on both streams, is answered.
func TestFloods(t *testing.T) {
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		if method != "textDocument/definition" {
			return nil
		}
		go func() {
			for range 2000 {
				if _, err := f.err.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}()
		for range 5000 {
			f.notify("window/logMessage", map[string]any{"type": 3, "message": strings.Repeat("x", 1000)})
			f.notify("textDocument/publishDiagnostics", map[string]any{"uri": "file:///y", "diagnostics": []any{}})
		}
		return defines(f, method, params)
	}))
	if list, _, err := w.define(); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
}

// TestWarmUp checks that an answer waits for the end of the tasks of the server, and is asked
// for again if one began in the meantime; after 60 s it is given with a note.
func TestWarmUp(t *testing.T) {
	progress := func(f *fake, kind string) {
		f.notify("$/progress", map[string]any{"token": 1, "value": map[string]any{"kind": kind, "title": "Indexing", "message": "3/4"}})
	}
	for _, takes := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ready := make(chan struct{})
			w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
				switch method {
				case "textDocument/didOpen":
					progress(f, "begin")
					go func() {
						time.Sleep(takes)
						progress(f, "end")
						close(ready)
					}()
				case "textDocument/definition":
					select {
					case <-ready:
						return defines(f, method, params)
					default:
						return []any{}
					}
				}
				return nil
			}))
			begin := time.Now()
			list, note, err := w.define()
			took := time.Since(begin).Round(time.Second)
			if takes < time.Minute && (err != nil || len(list) != 1 || note != "" || took != takes) ||
				takes > time.Minute && (err != nil || len(list) != 0 || note != "fake is still busy (Indexing 3/4), so this may be incomplete" || took != warmTime) {
				t.Error(took, list, note, err)
			}
			_ = w.manager.Close()
			if takes > time.Minute {
				time.Sleep(takes) // the script ends
			}
		})
	}
}

// TestLimits checks that servers end when they are idle, use too much memory, or are the least
// recently used of more than four.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script(all, defines))
		if _, _, err := w.define(); err != nil {
			t.Fatal(err)
		}
		first := w.last()
		time.Sleep(idleTime - time.Second)
		if first.count("shutdown") != 0 {
			t.Error("it ended before it was idle")
		}
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		if first.count("exit") != 1 {
			t.Error("it did not end politely:", first.methods())
		}
		if _, _, err := w.define(); err != nil || w.started() != 2 {
			t.Fatal(w.started(), err)
		}
		w.last().mu.Lock()
		w.last().memory = 3 << 30
		w.last().mu.Unlock()
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		if len(w.manager.Running()) != 0 {
			t.Error("it runs in spite of its memory")
		}
		if _, _, err := w.define(); err != nil || w.started() != 3 {
			t.Fatal(w.started(), err)
		}
		for i := range maxServers {
			time.Sleep(time.Second)
			dir := fmt.Sprint("p", i)
			if err := os.Mkdir(w.path(dir), 0o755); err != nil {
				t.Fatal(err)
			}
			w.write(dir+"/x.toml", "")
			w.write(dir+"/b.x", "")
			if _, _, err := w.open(dir + "/b.x"); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.manager.Running()); n != maxServers {
			t.Error(n, "servers run")
		}
		for _, s := range w.manager.Running() {
			if s.Root == w.root {
				t.Error("not the least recently used one ended")
			}
		}
	})
}

// TestMemoryInRequest checks the reason that a request gets whose server is stopped.
func TestMemoryInRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script(all, func(f *fake, method string, _ json.RawMessage) any {
			f.mu.Lock()
			f.memory = 5 << 30
			f.mu.Unlock()
			return silence{}
		}))
		const want = "it was stopped since it used 5120 MiB of memory, more than 2048 MiB"
		if _, _, err := w.define(); err == nil || err.Error() != want {
			t.Error(err)
		}
	})
}

// TestCancel checks that a request whose caller gives up is cancelled in the server.
func TestCancel(t *testing.T) {
	asked := make(chan struct{})
	w := newWorld(t, script(all, func(f *fake, method string, _ json.RawMessage) any {
		if method == "textDocument/definition" {
			close(asked)
			return silence{}
		}
		return nil
	}))
	c, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	go func() { <-asked; cancel(gone) }()
	if _, err := c.Ask(ctx, "textDocument/definition", At(w.path("a.x"), Position{}), new(json.RawMessage)); !errors.Is(err, gone) {
		t.Error(err)
	}
	for range 100 {
		if w.last().count("$/cancelRequest") == 1 {
			return
		}
		if err := c.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = c.send(t.Context(), "x", nil, nil) // is answered after the cancel is read
	}
	t.Error("the server got no $/cancelRequest")
}

// Announce announces changed files.
func (c *Client) Announce(ctx context.Context) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	_, err := c.announce(ctx, "")
	return err
}
