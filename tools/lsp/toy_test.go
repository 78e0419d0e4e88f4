package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	server "mcp-toolset/lsp"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
)

// toy is a server for a language of which the lines "def NAME" declare names, and lines with
// BAD, or with the word needs and a name that no file declares, have an error. It reads the files of its project, and those that are open.
type toy struct {
	mu   sync.Mutex
	root string
	open map[string]string
}

type placed struct {
	path string
	line int
	from int // bytes
	to   int
}

func (p placed) rng() server.Range {
	return server.Range{Start: server.Position{Line: p.line, Character: p.from}, End: server.Position{Line: p.line, Character: p.to}}
}

func (p placed) location() map[string]any {
	return map[string]any{"uri": server.URIOf(p.path), "range": p.rng()}
}

func (t *toy) each(f func(path string, n int, line string)) {
	_ = filepath.WalkDir(t.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".toy") {
			text, ok := t.open[path]
			if !ok {
				data, _ := os.ReadFile(path)
				text = string(data)
			}
			for n, line := range strings.Split(text, "\n") {
				f(path, n, strings.TrimSuffix(line, "\r"))
			}
		}
		return nil
	})
}

var name = regexp.MustCompile(`[A-Za-zé]+`)

func (t *toy) uses(want string) (all []placed) {
	t.each(func(path string, n int, line string) {
		for _, m := range name.FindAllStringIndex(line, -1) {
			if line[m[0]:m[1]] == want {
				all = append(all, placed{path, n, m[0], m[1]})
			}
		}
	})
	return all
}

func (t *toy) defs(want string) (all []placed) {
	t.each(func(path string, n int, line string) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if got, ok := strings.CutPrefix(line[indent:], "def "); ok && (want == "" || name.FindString(got) == want) {
			from := indent + len("def ")
			all = append(all, placed{path, n, from, from + len(name.FindString(got))})
		}
	})
	return all
}

func (t *toy) text(p placed) (s string) {
	t.each(func(path string, n int, line string) {
		if path == p.path && n == p.line {
			s = line[p.from:p.to]
		}
	})
	return s
}

// at returns the name at the position of a request.
func (t *toy) at(path string, p server.Position) (s string) {
	t.each(func(file string, n int, line string) {
		for _, m := range name.FindAllStringIndex(line, -1) {
			if file == path && n == p.Line && m[0] <= p.Character && p.Character <= m[1] {
				s = line[m[0]:m[1]]
			}
		}
	})
	return s
}

func (t *toy) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var p struct {
		RootPath     string
		Query        string
		NewName      string
		TextDocument struct{ URI, Text string }
		Position     server.Position
		Range        server.Range
		Item         struct {
			Name string
			URI  string
		}
		ContentChanges []struct{ Text string }
		Title          string
	}
	if req.Params != nil {
		_ = json.Unmarshal(*req.Params, &p)
	}
	path := server.PathOf(p.TextDocument.URI)
	var result any
	list := func(all []placed) {
		out := []any{}
		for _, a := range all {
			out = append(out, a.location())
		}
		result = out
	}
	symbol := func(a placed, kind int) map[string]any {
		return map[string]any{"name": t.text(a), "kind": kind, "range": a.rng(), "selectionRange": a.rng(), "uri": server.URIOf(a.path), "location": a.location()}
	}
	switch req.Method {
	case "initialize":
		t.root, t.open = p.RootPath, map[string]string{}
		yes := true
		result = map[string]any{"capabilities": map[string]any{
			"positionEncoding": "utf-8", "definitionProvider": yes, "referencesProvider": yes, "hoverProvider": yes, "documentSymbolProvider": yes, "workspaceSymbolProvider": yes,
			"callHierarchyProvider": yes, "diagnosticProvider": map[string]any{}, "renameProvider": yes, "codeActionProvider": map[string]any{"resolveProvider": yes},
		}}
	case "textDocument/didOpen":
		t.open[path] = p.TextDocument.Text
	case "textDocument/didChange":
		t.open[path] = p.ContentChanges[0].Text
	case "textDocument/didClose":
		delete(t.open, path)
	case "textDocument/definition":
		switch at := t.at(path, p.Position); at {
		case "crash":
			_ = conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: 1, Message: "toy: no\x1b such\nthing"})
			return
		case "lib":
			result = []any{map[string]any{"uri": "file:///usr/lib/x", "range": server.Range{}}, map[string]any{"uri": "jar:x!y", "range": server.Range{}}}
		case "wild":
			result = map[string]any{"uri": p.TextDocument.URI, "range": server.Range{Start: server.Position{Line: 999, Character: 99}}}
		default:
			list(t.defs(at))
		}
	case "textDocument/references":
		list(t.uses(t.at(path, p.Position)))
	case "textDocument/hover":
		if at := t.at(path, p.Position); len(t.defs(at)) > 0 {
			result = map[string]any{"contents": map[string]any{"kind": "markdown", "value": "**" + at + "**\x00\n\na name"}}
		}
	case "textDocument/documentSymbol":
		out := []any{}
		var class map[string]any
		for _, d := range t.defs("") {
			if d.path != path {
				continue
			}
			if d.from > len("def ") {
				child := symbol(d, 6)
				class["children"] = append(class["children"].([]any), child)
				continue
			}
			class = symbol(d, 5)
			class["children"] = []any{}
			out = append(out, class)
		}
		result = out
	case "workspace/symbol":
		out := []any{}
		for _, d := range t.defs("") {
			if strings.Contains(t.text(d), p.Query) {
				out = append(out, symbol(d, 12))
			}
		}
		result = out
	case "textDocument/prepareCallHierarchy":
		out := []any{}
		for _, d := range t.defs(t.at(path, p.Position)) {
			out = append(out, symbol(d, 12))
		}
		result = out
	case "callHierarchy/incomingCalls":
		d := t.defs(p.Item.Name)[0]
		out := []any{}
		for _, u := range t.uses(p.Item.Name) {
			if u != d {
				from := placed{u.path, 0, 4, 5}
				out = append(out, map[string]any{"from": symbol(from, 12), "fromRanges": []any{u.rng()}})
			}
		}
		result = out
	case "callHierarchy/outgoingCalls":
		result = []any{}
	case "textDocument/diagnostic":
		out := []any{}
		if strings.Contains(t.open[path], "END") {
			_ = conn.Close()
			return
		}
		if strings.Contains(t.open[path], "SLOW") {
			progress := func(value any) {
				_ = conn.Notify(ctx, "$/progress", map[string]any{"token": "slow", "value": value})
			}
			progress(map[string]any{"kind": "begin", "title": "Indexing", "message": "1/3"})
			t.mu.Unlock()
			time.Sleep(5 * time.Second)
			t.mu.Lock()
			progress(map[string]any{"kind": "end"})
		}
		all := ""
		t.each(func(_ string, _ int, line string) { all += line + "\n" })
		t.each(func(file string, n int, line string) {
			if i := strings.Index(line, "BAD"); i >= 0 && file == path {
				out = append(out, map[string]any{"range": placed{file, n, i, i + 3}.rng(), "severity": 1, "code": 7, "source": "toy", "message": "this is bad"})
			}
			if i := strings.Index(line, "needs "); i >= 0 && file == path && !strings.Contains(all, "def "+line[i+6:]) {
				out = append(out, map[string]any{"range": placed{file, n, i, i + 3}.rng(), "severity": 1, "message": "there is no " + line[i+6:]})
			}
		})
		result = map[string]any{"kind": "full", "items": out}
	case "textDocument/rename":
		changes := map[string][]any{}
		for _, u := range t.uses(t.at(path, p.Position)) {
			changes[server.URIOf(u.path)] = append(changes[server.URIOf(u.path)], map[string]any{"range": u.rng(), "newText": p.NewName})
		}
		switch p.NewName {
		case "outside":
			changes = map[string][]any{"file:///usr/x": {map[string]any{"range": server.Range{}, "newText": "x"}}}
		case "far":
			changes = map[string][]any{p.TextDocument.URI: {map[string]any{"range": server.Range{Start: server.Position{Line: 500}, End: server.Position{Line: 500}}, "newText": "x"}}}
		case "moving":
			result = map[string]any{"documentChanges": []any{map[string]any{"kind": "rename", "oldUri": "file:///a", "newUri": "file:///b"}}}
		}
		if result == nil && len(changes) > 0 {
			result = map[string]any{"changes": changes}
		}
	case "textDocument/codeAction":
		result = []any{
			map[string]any{"title": "Make it good", "kind": "quickfix", "data": p.TextDocument.URI},
			map[string]any{"title": "Run it", "command": "run"},
			map[string]any{"title": "Not now", "disabled": map[string]any{"reason": "no"}},
		}
	case "codeAction/resolve":
		var a struct{ Data string }
		_ = json.Unmarshal(*req.Params, &a)
		edits := []any{}
		t.each(func(file string, n int, line string) {
			if i := strings.Index(line, "BAD"); i >= 0 && server.URIOf(file) == a.Data {
				edits = append(edits, map[string]any{"range": placed{file, n, i, i + 3}.rng(), "newText": "GOOD"})
			}
		})
		result = map[string]any{"title": p.Title, "edit": map[string]any{"changes": map[string]any{a.Data: edits}}}
	}
	if !req.Notif {
		_ = conn.Reply(ctx, req.ID, result)
	}
}

// pipes is the server's side of the streams of a process in this one.
type pipes struct {
	io.Reader
	io.Writer
	closers []io.Closer
	done    chan struct{}
	once    sync.Once
}

func (p *pipes) Close() error {
	p.once.Do(func() {
		for _, c := range p.closers {
			_ = c.Close()
		}
		close(p.done)
	})
	return nil
}

func (p *pipes) Done() <-chan struct{}   { return p.done }
func (p *pipes) Exit() string            { return "exited with code 0" }
func (p *pipes) End(time.Duration) error { return p.Close() }
func (p *pipes) Memory() int64           { return 0 }

// lacking is what servers cannot read or reach.
var lacking struct{ hidden, unreached []string }

// whileStarting is called when a server starts, between the read of a file and the question.
var whileStarting = func() {}

func startToy(context.Context, server.Launch) (server.Process, error) {
	whileStarting()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	words, stderr := io.Pipe()
	p := &pipes{Reader: fromClient, Writer: toClient, closers: []io.Closer{fromClient, toClient, stderr}, done: make(chan struct{})}
	jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(p, jsonrpc2.VSCodeObjectCodec{}), new(toy), jsonrpc2.SetLogger(quiet{}))
	return server.Process{Stdin: toServer, Stdout: fromServer, Stderr: words, Control: p, Hidden: lacking.hidden, Unreached: func() []string { return lacking.unreached }}, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newOptions(t *testing.T, w *toolstest.Workspace) Options {
	m := server.New(server.Config{
		Servers: append([]server.Server{{Name: "toy-ls", Command: []string{"toy-ls"}, Files: map[string]string{"*.toy": "toy"}}}, server.Table...),
		Roots:   []string{w.Root}, Start: startToy,
		Find: func(name string) (string, error) {
			if name != "toy-ls" {
				return "", errors.New("absent")
			}
			return "/bin/true", nil
		},
	})
	t.Cleanup(func() { _ = m.Close() })
	return Options{Servers: m, Change: file.Options{Locks: w.Locks, Snapshots: w.Snapshots}, Previews: new(Previews)}
}

// ids matches the ids of previews, which are random.
var ids = regexp.MustCompile(`\b(id |There are )[a-z2-7]{6}\b`)

func TestCases(t *testing.T) {
	toolstest.RunSeveral(t, func(w *toolstest.Workspace) []*tools.Tool { return New(newOptions(t, w)) }, "testdata", func(s string) string {
		return regexp.MustCompile(`(?m)^[a-z2-7]{6}: `).ReplaceAllString(ids.ReplaceAllString(s, "${1}ID"), "ID: ")
	})
}
