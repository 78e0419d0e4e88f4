package lsp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// checker is a server that finds an error in each line with "bad", and in each line "uses N"
// unless b.x of the disk has the line N.
type checker struct {
	w     *world
	delay time.Duration // until it sends diagnostics by itself
}

func (c *checker) found(f *fake, name string) (out []any) {
	f.mu.Lock()
	text, open := f.texts[name]
	f.mu.Unlock()
	if !open {
		t, _ := c.w.text(name)
		text = t.Content()
	}
	other, _ := c.w.text("b.x")
	for i, line := range strings.Split(text, "\n") {
		name, uses := strings.CutPrefix(line, "uses ")
		if strings.Contains(line, "bad") || uses && !slices.Contains(strings.Split(other.Content(), "\n"), name) {
			out = append(out, map[string]any{"range": Range{Position{i, 0}, Position{i, 1}}, "severity": 1, "message": "in " + line})
		}
	}
	return out
}

func (c *checker) answer(f *fake, method string, params json.RawMessage) any {
	switch method {
	case "textDocument/didClose":
		f.mu.Lock()
		delete(f.texts, w0(params))
		f.mu.Unlock()
	case "textDocument/diagnostic":
		return map[string]any{"kind": "full", "items": c.found(f, w0(params))}
	case "textDocument/didOpen", "textDocument/didChange", "workspace/didChangeWatchedFiles":
		if c.delay > 0 {
			go func() {
				time.Sleep(c.delay)
				for _, name := range []string{"a.x", "b.x", "c.x"} {
					f.notify("textDocument/publishDiagnostics", map[string]any{"uri": URIOf(c.w.path(name)), "diagnostics": c.found(f, name)})
				}
			}()
		}
	}
	return nil
}

// TestCompareKnows checks what an edit is blamed for, of a server that is asked for
// diagnostics, and of one that also sends those of all files a second after each change. No
// server gets a content that the file does not have any more.
func TestCompareKnows(t *testing.T) {
	const start = "bad 1\ngood\nuses x\n"
	edited := strings.ReplaceAll(start, "good", "bad 2")
	for _, c := range []struct {
		name  string
		knows string        // when the server is asked about a.x: "before", "changed", "" for never
		other string        // new content of b.x when a.x is edited; "": it does not change
		rest  time.Duration // before the edit
		edit  string
		want  [2]string // of the two servers
	}{
		{"known", "before", "", time.Minute, edited, [2]string{"a.x in bad 2", "a.x in bad 2"}},
		{"fixed", "before", "", time.Minute, "good\nuses x\n", [2]string{"1 fixed", "1 fixed"}},
		// The second server has sent those of a.x before.
		{"never asked", "", "", time.Minute, edited, [2]string{"a.x in bad 2", "a.x in bad 2"}},
		{"never asked, fixed", "", "", time.Minute, "good\nuses x\n", [2]string{"", "1 fixed"}},
		{"another change meanwhile", "before", "y\n", time.Minute, edited, [2]string{"a.x in bad 2", "a.x in bad 2"}},
		{"another change meanwhile, never asked", "", "y\n", time.Minute, edited, [2]string{"a.x in bad 2", "a.x in bad 2"}},
		{"another change that was announced just before", "changed", "y\n", 0, edited, [2]string{"a.x in bad 2", "a.x in bad 2"}},
	} {
		for i, pushes := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, pushes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := &checker{}
					if pushes {
						k.delay = time.Second
					}
					w := newWorld(t, script(`{"diagnosticProvider": {}}`, k.answer), func(c *Config, _ *fake) {
						s := fakeServer
						s.Pulls = pushes
						c.Servers = []Server{s}
					})
					k.w = w
					defer func() { time.Sleep(2 * time.Second) }() // the script ends
					w.write("a.x", start)
					w.write("b.x", "x\n")
					w.write("c.x", "uses x\nbad 3\n")
					client, _, err := w.open("b.x")
					if err != nil {
						t.Fatal(err)
					}
					ask := func(name string) {
						text, info := w.text(name)
						if _, _, err := client.Diagnostics(t.Context(), w.path(name), w.path(name), text, info); err != nil {
							t.Fatal(err)
						}
					}
					ask("c.x")
					if c.knows == "before" {
						ask("a.x")
					}
					time.Sleep(c.rest)
					if c.other != "" {
						w.write("b.x", c.other)
					}
					if c.knows == "changed" {
						ask("a.x")
					}
					before, _ := w.text("a.x")
					w.write("a.x", c.edit)
					w.last().mu.Lock()
					w.last().sent = nil
					w.last().mu.Unlock()
					after, seen := w.text("a.x")
					change, err := client.Compare(t.Context(), w.path("a.x"), before, after, seen)
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, n := range change.New {
						got = append(got, filepath.Base(n.Path)+" "+string(n.Message))
					}
					if change.Fixed > 0 {
						got = append(got, fmt.Sprint(change.Fixed, " fixed"))
					}
					if got := strings.Join(got, ", "); got != c.want[i] {
						t.Errorf("the change did: %s", got)
					}
					for _, sent := range w.last().sent {
						if name, text, _ := strings.Cut(sent, ": "); name == "a.x" && text != c.edit {
							t.Errorf("the server got %q", text)
						}
					}
				})
			})
		}
	}
}

// TestCompareOthers checks that an edit is blamed for problems of other files that it caused.
func TestCompareOthers(t *testing.T) {
	for _, pushes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := &checker{}
			if pushes {
				k.delay = time.Second
			}
			w := newWorld(t, script(`{"diagnosticProvider": {}}`, k.answer), func(c *Config, _ *fake) {
				s := fakeServer
				s.Pulls = pushes
				c.Servers = []Server{s}
			})
			k.w = w
			defer func() { time.Sleep(2 * time.Second) }()
			w.write("b.x", "x\ny\n")
			w.write("c.x", "uses x\nbad 3\n")
			client, text, err := w.open("c.x")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := client.Diagnostics(t.Context(), w.path("c.x"), w.path("c.x"), text, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			before, _ := w.text("b.x")
			w.write("b.x", "y\n")
			after, seen := w.text("b.x")
			change, err := client.Compare(t.Context(), w.path("b.x"), before, after, seen)
			if err != nil || len(change.New) != 1 || change.New[0].Message != "in uses x" || filepath.Base(change.New[0].Path) != "c.x" || change.Fixed != 0 {
				t.Errorf("pushes %v: %+v, %v", pushes, change, err)
			}
		})
	}
}

// TestOldContent checks that a content that is not that of the file any more is not sent.
func TestOldContent(t *testing.T) {
	w := newWorld(t, script(all, defines))
	client, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // open, and closed
		text, info := w.text("a.x")
		w.write("a.x", text.Content()+"more\n")
		_ = client.send(t.Context(), "x", nil, nil)
		w.last().mu.Lock()
		w.last().sent = nil
		w.last().mu.Unlock()
		old, _ := NewText([]byte("another " + text.Content()))
		if err := client.Open(t.Context(), w.path("a.x"), w.path("a.x"), old, info); err != errChanged {
			t.Error(err)
		}
		_ = client.send(t.Context(), "x", nil, nil)
		if f := w.last(); len(f.sent) > 0 || len(client.docs) > 0 {
			t.Error(f.sent, client.docs)
		}
	}
}
