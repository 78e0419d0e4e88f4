package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"mcp-toolset/internal/testscale"
)

// TestFilesChanges compares the changes that are found with those that are made, over random
// changes of a tree.
func TestFilesChanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := newFiles(&trees{open: map[string]*tree{}}, []string{root})
	defer f.close()
	if events, err := f.changes(t.Context(), func(string) bool { return true }); err != nil || len(events) > 0 {
		t.Fatal(events, err)
	}
	now := map[string]string{}
	for step := range testscale.N(100, 2000) {
		before := map[string]string{}
		for k, v := range now {
			before[k] = v
		}
		for range rnd.IntN(4) {
			name := fmt.Sprintf("%c/%d", "abc"[rnd.IntN(3)], rnd.IntN(3))
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(rnd.IntN(10)) // all of one size
			switch rnd.IntN(4) {
			case 0:
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				delete(now, path)
				continue
			case 1:
				if err := os.WriteFile(path+".tmp", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(path+".tmp", path); err != nil {
					t.Fatal(err)
				}
			default:
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			now[path] = text
		}
		if rnd.IntN(10) == 0 {
			dir := filepath.Join(root, "b")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			for path := range now {
				if filepath.Dir(path) == dir {
					delete(now, path)
				}
			}
		}
		events, err := f.changes(t.Context(), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]int{}
		for _, e := range events {
			told[e.path] = e.Type
		}
		for path, text := range now {
			if was, ok := before[path]; (!ok || was != text) && told[path] != fileCreated && told[path] != fileChanged {
				t.Fatalf("step %d: %s is %q now, and the events are %v", step, path, text, events)
			}
		}
		for path := range before {
			if _, ok := now[path]; !ok && told[path] != fileDeleted {
				t.Fatalf("step %d: %s is gone, and the events are %v", step, path, events)
			}
		}
	}
}

// TestStep checks which changes on the disk a server gets, and which documents are open.
func TestStep(t *testing.T) {
	var mu sync.Mutex
	var told []string
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		if method == "workspace/didChangeWatchedFiles" {
			var p struct{ Changes []fileEvent }
			_ = json.Unmarshal(params, &p)
			mu.Lock()
			defer mu.Unlock()
			for _, c := range p.Changes {
				told = append(told, fmt.Sprint(filepath.Base(PathOf(c.URI)), " ", c.Type))
			}
		}
		return []any{}
	}))
	if _, _, err := w.define(); err != nil {
		t.Fatal(err)
	}
	w.write("b.x", "b")
	w.write("other.txt", "not of the server")
	if _, _, err := w.open("b.x"); err != nil {
		t.Fatal(err)
	}
	w.write("a.x", "three\n") // is open
	c, _, err := w.open("b.x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.path("b.x")); err != nil {
		t.Fatal(err)
	}
	if err := c.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = c.send(t.Context(), "x", nil, nil) // is answered after what was sent before
	for _, m := range []string{"textDocument/didClose a.x", "textDocument/didClose b.x"} {
		if w.last().count(m) != 1 {
			t.Errorf("%s is not in %q", m, w.last().methods())
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"b.x 1", "a.x 2", "b.x 3"} {
		if !slices.Contains(told, want) {
			t.Errorf("%s is not among %q", want, told)
		}
	}
	if slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "other") }) {
		t.Errorf("the server got changes of other files: %q", told)
	}
}

// TestRegistered checks the patterns of watched files that a server registers.
func TestRegistered(t *testing.T) {
	root := filepath.FromSlash("/w[1]")
	for _, c := range []struct {
		options, path string
		want          bool
	}{
		{`{"watchers": [{"globPattern": "**/*.{mod,sum}"}]}`, "/w[1]/a/go.sum", true},
		{`{"watchers": [{"globPattern": "**/*.{mod,sum}"}]}`, "/w[1]/a/go.work", false},
		{`{"watchers": [{"globPattern": "*.cfg"}]}`, "/w[1]/a.cfg", true},
		{`{"watchers": [{"globPattern": "*.cfg"}]}`, "/w[1]/a/a.cfg", false},
		{`{"watchers": [{"globPattern": {"baseUri": "file:///lib", "pattern": "**/*.h"}}]}`, "/lib/a/b.h", true},
		{`{"watchers": [{"globPattern": {"baseUri": {"uri": "file:///lib", "name": "x"}, "pattern": "*.h"}}]}`, "/lib/b.h", true},
		{`{"watchers": [{"globPattern": 3}]}`, "/lib/b.h", false},
		{`{}`, "/w[1]/a.y", false},
		{`{}`, "/w[1]/a.x", true},
		{`{}`, "/w[1]/x.toml", true},
	} {
		client := &Client{Server: &fakeServer, registered: map[string]register{"1": newRegister(root, "workspace/didChangeWatchedFiles", json.RawMessage(c.options))}}
		if got := client.watched(filepath.FromSlash(c.path)); got != c.want {
			t.Errorf("%s for %s: %v", c.options, c.path, got)
		}
	}
}

// TestOpenLimit checks that the least recently used document is closed beyond 50.
func TestOpenLimit(t *testing.T) {
	w := newWorld(t, script(all, defines))
	for i := range maxOpen + 1 {
		w.write(fmt.Sprintf("f%d.x", i), "x")
	}
	for i := range maxOpen {
		if _, _, err := w.open(fmt.Sprintf("f%d.x", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, maxOpen} {
		if _, _, err := w.open(fmt.Sprintf("f%d.x", i)); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := w.open("f0.x")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.send(t.Context(), "x", nil, nil)
	if f := w.last(); f.count("textDocument/didClose f1.x") != 1 || f.count("textDocument/didClose f0.x") != 0 || len(c.docs) != maxOpen {
		t.Error(len(c.docs), f.methods())
	}
	w.write("large.x", strings.Repeat("x", maxOpenBytes+1))
	for _, name := range []string{"large.x", "f1.x"} {
		if _, _, err := w.open(name); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.docs) != 1 || c.docs[w.path("f1.x")] == nil {
		t.Error(len(c.docs), "documents are open beside a large one")
	}
}

// TestPushedDiagnostics checks that only diagnostics of the present content count, of servers
// that send them with and without a version, in pieces, and late.
func TestPushedDiagnostics(t *testing.T) {
	finding := func(text string) []any {
		return []any{map[string]any{"range": Range{}, "severity": 1, "message": text}}
	}
	for _, versions := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
				var p struct {
					TextDocument struct {
						URI     string
						Version int
						Text    string
					}
					ContentChanges []struct{ Text string }
				}
				_ = json.Unmarshal(params, &p)
				text := p.TextDocument.Text
				if len(p.ContentChanges) > 0 {
					text = p.ContentChanges[0].Text
				}
				if text == "" {
					return nil
				}
				publish := func(version int, text string) {
					m := map[string]any{"uri": p.TextDocument.URI, "diagnostics": finding(text)}
					if versions {
						m["version"] = version
					}
					f.notify("textDocument/publishDiagnostics", m)
				}
				go func() {
					if versions {
						publish(p.TextDocument.Version-1, "old") // of the text before
					}
					time.Sleep(200 * time.Millisecond)
					if !versions {
						publish(0, "syntax of "+text)
						time.Sleep(200 * time.Millisecond)
					}
					publish(p.TextDocument.Version, "of "+text)
				}()
				return nil
			}))
			c, _, err := w.open("a.x")
			if err != nil {
				t.Fatal(err)
			}
			ask := func() string {
				text, info := w.text("a.x")
				list, _, err := c.Diagnostics(t.Context(), w.path("a.x"), w.path("a.x"), text, info)
				if err != nil || len(list) != 1 {
					t.Fatal(list, err)
				}
				message := string(list[0].Message)
				list[0].Message = "changed by the caller, who owns the list"
				return message
			}
			if got := ask(); got != "of one\ntwo\n" {
				t.Errorf("with versions %v: %q", versions, got)
			}
			begin := time.Now()
			if got := ask(); got != "of one\ntwo\n" || time.Since(begin) > 0 {
				t.Errorf("with versions %v, unchanged: %q after %v", versions, got, time.Since(begin))
			}
			w.write("a.x", "new")
			if got := ask(); got != "of new" {
				t.Errorf("with versions %v, changed: %q", versions, got)
			}
			w.write("b.x", "another file")
			begin = time.Now()
			if got := ask(); got != "of new" || time.Since(begin) == 0 {
				t.Errorf("with versions %v, another file: %q after %v", versions, got, time.Since(begin))
			}
			_ = w.manager.Close()
			time.Sleep(time.Second)
		})
	}
}

// TestCompare checks which problems count as caused by a change: in the file and in others,
// those that are new by their message, however they moved.
func TestCompare(t *testing.T) {
	finding := func(line int, severity int, text string) any {
		return map[string]any{"range": Range{Position{line, 0}, Position{line, 1}}, "severity": severity, "message": text}
	}
	w := newWorld(t, script(`{"diagnosticProvider": {}}`, func(f *fake, method string, params json.RawMessage) any {
		if method != "textDocument/diagnostic" {
			return nil
		}
		return map[string]any{"kind": "full", "items": f.found(w0(params))}
	}))
	defer func() { found = nil }()
	c, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	w.write("b.x", "uses a")
	list := func(all ...any) []any { return all }
	found = map[string]map[string][]any{
		"a.x": {"one\ntwo\n": list(finding(1, 1, "stays"), finding(1, 1, "goes"), finding(0, 3, "a hint")), "zero\none\ntwo\n": list(finding(2, 1, "stays"), finding(2, 1, "stays"), finding(0, 2, "comes"))},
		"b.x": {"uses a": list(finding(0, 1, "other before"))},
	}
	text, info := w.text("b.x")
	if list, _, err := c.Diagnostics(t.Context(), w.path("b.x"), w.path("b.x"), text, info); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	before, _ := w.text("a.x")
	w.write("a.x", "zero\none\ntwo\n")
	after, seen := w.text("a.x")
	found["b.x"]["uses a"] = list(finding(0, 1, "other after"))
	change, err := c.Compare(t.Context(), w.path("a.x"), before, after, seen)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range change.New {
		got = append(got, filepath.Base(n.Path)+" "+string(n.Message))
	}
	slices.Sort(got)
	if want := []string{"a.x comes", "a.x stays", "b.x other after"}; !slices.Equal(got, want) || change.Fixed != 2 {
		t.Errorf("new are %q, and %d are fixed", got, change.Fixed)
	}
	again, err := c.Compare(t.Context(), w.path("a.x"), after, after, seen)
	if err != nil || len(again.New)+again.Fixed != 0 {
		t.Errorf("a change that changes nothing causes %+v, %v", again, err)
	}
}

// found holds the diagnostics of files by their content, in TestCompare.
var found map[string]map[string][]any

func w0(params json.RawMessage) string {
	var p struct{ TextDocument struct{ URI string } }
	_ = json.Unmarshal(params, &p)
	return filepath.Base(PathOf(p.TextDocument.URI))
}

// found returns the diagnostics of the content that an open document has.
func (f *fake) found(name string) []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return found[name][f.texts[name]]
}

// TestText compares conversions of positions with a slow version, over random texts.
func TestText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	parts := []string{"a", "é", "😀", "\n", "\r\n", "漢", "\t", ""}
	for range testscale.N(2000, 50_000) {
		var b strings.Builder
		for range rnd.IntN(20) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		content := b.String()
		text, err := NewText([]byte(bom + content))
		if err != nil || text.Content() != content {
			t.Fatal(text, err)
		}
		line, units16, units8 := 0, 0, 0
		for i, r := range content + "$" {
			for utf8, units := range map[bool]int{false: units16, true: units8} {
				c := &Client{utf8: utf8}
				if r != '\n' || !strings.HasSuffix(content[:i], "\r") { // a position within \r\n has no offset of its own
					if p := c.Position(text, i); p != (Position{line, units}) {
						t.Fatalf("%q: the position of %d is %v, not %d:%d", content, i, p, line, units)
					}
					if got, ok := c.Offset(text, Position{line, units}); !ok || got != i {
						t.Fatalf("%q: the offset of %d:%d is %d, not %d", content, line, units, got, i)
					}
				}
			}
			units16 += utf16.RuneLen(r)
			units8 += len(string(r))
			if r == '\n' {
				line, units16, units8 = line+1, 0, 0
			}
		}
		// Positions outside of the text are moved into it, and change nothing by themselves.
		wild := Position{rnd.IntN(60) - 5, rnd.IntN(60) - 5}
		if got, _ := text.offset(wild, false); got < 0 || got > len(content) {
			t.Fatal(content, wild, got)
		}
		if out, err := text.Apply([]TextEdit{{Range{wild, wild}, ""}}, false); err == nil && out != bom+content {
			t.Fatalf("%q becomes %q", content, out)
		}
	}
}

func TestApply(t *testing.T) {
	text, err := NewText([]byte("a😀b\r\nc\n"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(l1, c1, l2, c2 int, s string) TextEdit {
		return TextEdit{Range{Position{l1, c1}, Position{l2, c2}}, s}
	}
	for _, c := range []struct {
		edits []TextEdit
		want  string
	}{
		{[]TextEdit{at(1, 0, 1, 1, "d"), at(0, 3, 0, 4, "B")}, "a😀B\r\nd\n"},
		{[]TextEdit{at(0, 0, 0, 0, "1"), at(0, 0, 0, 0, "2")}, "12a😀b\r\nc\n"},
		{[]TextEdit{at(0, 0, 2, 0, "")}, ""},
		{[]TextEdit{at(0, 0, 99, 0, "x")}, "x"},
		{[]TextEdit{at(0, 0, 0, 2, ""), at(0, 1, 0, 3, "")}, "error: two edits overlap"},
		{[]TextEdit{at(50, 0, 50, 0, "x")}, "error: an edit is outside of the text"},
		{[]TextEdit{at(1, 0, 0, 0, "x")}, "error: an edit is outside of the text"},
		{[]TextEdit{at(-1, 0, 0, 0, "x")}, "error: an edit is outside of the text"},
	} {
		got, err := text.Apply(c.edits, false)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, not %q", c.edits, got, c.want)
		}
	}
}

// TestChoose checks which program is a server, and the errors where there is none.
func TestChoose(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"js/node_modules/.bin/typescript-language-server", "usr/node_modules/typescript-language-server/lib/cli.mjs", "usr/node_modules/typescript/lib/tsserver.js", "old/node_modules/typescript-language-server/lib/cli.mjs"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file, found string
		trusted     bool
		want        string
	}{
		{"a.rs", "", false, "no language server for a.rs is installed: rust-analyzer is not on the PATH. Use Grep and Read; or ask the user to install it: rustup component add rust-analyzer. No language server is installed."},
		{"a.rs", "rust-analyzer gopls", false, "rust-analyzer runs programs of the project, such as build scripts, and the user does not trust the project. Use Grep and Read; or ask the user to run mcp-toolset trust in it."},
		{"a.rs", "rust-analyzer", true, "/bin/rust-analyzer"},
		{"a.unknown", "gopls", false, "no language server for a.unknown is known. Use Grep and Read; the user can add one with lspServers in the settings. Installed: gopls."},
		{"a.py", "basedpyright-langserver", false, "/bin/basedpyright-langserver"},
		{"js/a.ts", "", true, filepath.Join(root, "js/node_modules/.bin/typescript-language-server")},
		{"js/a.ts", filepath.Join(root, "usr/node_modules/typescript-language-server/lib/cli.mjs"), false, filepath.Join(root, "usr/node_modules/typescript/lib")},
		{"js/a.ts", filepath.Join(root, "old/node_modules/typescript-language-server/lib/cli.mjs"), false, "typescript-language-server has no TypeScript of its own, and that of the project does not run: the user does not trust the project. Use Grep and Read; or ask the user to run npm install -g typescript typescript-language-server, or mcp-toolset trust in the project."},
		{"../a.go", "gopls", false, filepath.Join(filepath.Dir(root), "a.go") + " is outside of the workspace, and no gopls runs that could know it. Ask about a file of the workspace first."},
	} {
		m := New(Config{Servers: Table, Roots: []string{root}, Trusted: func(string) bool { return c.trusted }, Find: func(name string) (string, error) {
			switch {
			case filepath.IsAbs(c.found) && name == "typescript-language-server":
				return c.found, nil
			case slices.Contains(strings.Fields(c.found), name):
				return "/bin/" + name, nil
			}
			return "", os.ErrNotExist
		}})
		path := filepath.Join(root, c.file)
		s, _, program, err := m.choose(Workspace{}, path)
		got := program
		switch {
		case err != nil:
			got = err.Error()
		case strings.Contains(string(s.Options), filepath.Join(root, "usr")):
			var o struct{ TSServer struct{ Path string } }
			_ = json.Unmarshal(s.Options, &o)
			got = o.TSServer.Path
		case program == "":
			_, _, err = m.For(t.Context(), Workspace{}, path)
			got = fmt.Sprint(err)
		}
		if got != c.want {
			t.Errorf("%s with %q, trusted %v:\n%s\nnot\n%s", c.file, c.found, c.trusted, got, c.want)
		}
	}
}

// TestHashOfPipe checks that a file that has become a pipe with a writer does not block.
func TestHashOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.x")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Skip("no pipes here: ", err, string(out))
	}
	writer, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, ok := hashOf(path); ok {
		t.Error("a pipe has a hash")
	}
}

// TestForChange checks that a change starts a server only if its row does, and none for a file
// outside of the roots.
func TestForChange(t *testing.T) {
	for _, starts := range []bool{false, true} {
		w := newWorld(t, script(all, defines), func(c *Config, _ *fake) {
			s := fakeServer
			s.Starts = starts
			c.Servers = []Server{s}
		})
		for _, at := range []struct {
			path  string
			start bool
		}{{filepath.Join(t.TempDir(), "a.x"), true}, {w.path("a.x"), false}, {w.path("a.x"), true}} {
			c, done, err := w.manager.ForChange(t.Context(), Workspace{}, at.path, at.start)
			if want := starts && at.start && at.path == w.path("a.x"); err != nil || (c != nil) != want {
				t.Errorf("%s, start %v of a row with %v: %v, %v", at.path, at.start, starts, c, err)
			}
			if c != nil {
				done()
			}
		}
	}
}

// TestOpenElsewhere checks that a file which only the server finds at its path, as one in a layer over
// a cache, is opened, stays open, and is closed when it changes where it is.
func TestOpenElsewhere(t *testing.T) {
	w := newWorld(t, script(all, defines))
	w.write("a.x", "x")
	w.write("layer.x", "one")
	c, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	path, at := w.path("cache/dep.x"), w.path("layer.x")
	open := func() error {
		text, info := w.text("layer.x")
		return c.Open(t.Context(), path, at, text, info)
	}
	for range 2 {
		if err := open(); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.send(t.Context(), "x", nil, nil)
	if f := w.last(); f.count("textDocument/didOpen dep.x") != 1 || f.count("textDocument/didClose dep.x") != 0 {
		t.Error(f.methods())
	}
	w.write("layer.x", "three")
	if err := c.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = c.send(t.Context(), "x", nil, nil)
	if f := w.last(); f.count("textDocument/didClose dep.x") != 1 {
		t.Error(f.methods())
	}
}
