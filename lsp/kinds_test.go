package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestTSServer checks that tsserver is asked for diagnostics, and made to look for changes of
// other files than the one that a call is about.
func TestTSServer(t *testing.T) {
	var mu sync.Mutex
	var commands []string
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		if method != "workspace/executeCommand" {
			return nil
		}
		var p struct {
			Command   string
			Arguments []json.RawMessage
		}
		_ = json.Unmarshal(params, &p)
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, fmt.Sprintf("%s %s", p.Command, p.Arguments))
		if string(p.Arguments[0]) != `"semanticDiagnosticsSync"` {
			return map[string]any{"body": []any{}}
		}
		return json.RawMessage(`{"body": [{"start": {"line": 2, "offset": 3}, "end": {"line": 2, "offset": 4}, "text": "wrong", "code": 7, "category": "error"},
			{"start": {"line": 0, "offset": 0}, "end": {"line": 0, "offset": 0}, "text": "better", "code": 8, "category": "suggestion"}]}`)
	}), func(c *Config, _ *fake) {
		s := fakeServer
		s.TSServer = true
		c.Servers = []Server{s}
	})
	c, _, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	text, info := w.text("a.x")
	list, _, err := c.Diagnostics(t.Context(), w.path("a.x"), w.path("a.x"), text, info)
	if err != nil || len(list) != 2 || list[0].Range.Start != (Position{1, 2}) || list[0].Level()+string(list[0].Message) != "errorwrong" || list[1].Level() != "hint" || list[1].Range.Start != (Position{}) {
		t.Fatal(list, err)
	}
	reloads := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, command := range commands {
			if strings.HasPrefix(command, `typescript.tsserverRequest ["reloadProjects"`) {
				n++
			}
		}
		return n
	}
	w.write("a.x", "changed")
	if _, _, err := w.open("a.x"); err != nil || reloads() != 0 {
		t.Error(err, commands)
	}
	w.write("b.x", "new")
	if _, _, err := w.open("a.x"); err != nil || reloads() != 1 {
		t.Error(err, commands)
	}
	w.write("b.x", "newer")
	if _, _, err := w.open("a.x"); err != nil || reloads() != 2 {
		t.Error(err, commands)
	}
}

// TestResends checks that a server that does not look at the files that a document includes
// gets the document again after a change, and that the answer waits for its diagnostics.
func TestResends(t *testing.T) {
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		var p struct {
			TextDocument struct {
				URI     string
				Version int
			}
		}
		_ = json.Unmarshal(params, &p)
		if method == "textDocument/didOpen" || method == "textDocument/didChange" {
			f.notify("textDocument/publishDiagnostics", map[string]any{"uri": p.TextDocument.URI, "version": p.TextDocument.Version, "diagnostics": []any{}})
		}
		return []any{}
	}), func(c *Config, _ *fake) {
		s := fakeServer
		s.Resends = true
		c.Servers = []Server{s}
	})
	sent := func() int { return w.last().count("textDocument/didChange a.x") }
	if _, _, err := w.define(); err != nil {
		t.Fatal(err)
	}
	before := sent()
	if _, _, err := w.define(); err != nil || sent() != before {
		t.Error("it was sent again without a change:", err)
	}
	w.write("b.x", "included")
	if _, _, err := w.define(); err != nil || sent() == before {
		t.Error("it was not sent again:", err)
	}
}

// TestLatePull checks a server that registers only later that it wants to be asked for
// diagnostics.
func TestLatePull(t *testing.T) {
	w := newWorld(t, script(all, func(f *fake, method string, params json.RawMessage) any {
		switch method {
		case "textDocument/didChange":
			go f.request("client/registerCapability", map[string]any{"registrations": []any{map[string]any{"id": "1", "method": "textDocument/diagnostic"}}})
		case "textDocument/diagnostic":
			return map[string]any{"kind": "full", "items": []any{map[string]any{"range": Range{}, "message": map[string]any{"kind": "markdown", "value": "late"}}}}
		}
		return nil
	}))
	c, text, err := w.open("a.x")
	if err != nil {
		t.Fatal(err)
	}
	if list, _, err := c.Diagnostics(t.Context(), w.path("a.x"), w.path("a.x"), text, nil); err != nil || len(list) != 1 || list[0].Message != "late" {
		t.Error(list, err)
	}
}
