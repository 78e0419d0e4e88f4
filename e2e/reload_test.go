package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReloadHTTP checks that a saved deny rule holds in a session of an HTTP server that was there
// before, in a new one and without a session, and that a broken file changes nothing. The script
// reload.txtar has more, over stdio.
func TestReloadHTTP(t *testing.T) {
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "settings.json")
	save := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(filepath.Join(root, "notes.md"), "the notes\n")
	save(file, "{}")
	first := serveWith(t, root, "--settings", file)
	first.exchange(t, initialize)
	second, none := &httpWire{url: first.url}, &httpWire{url: first.url}
	n := 1
	read := func(w *httpWire) string {
		n++
		meta := ""
		if w == none {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		return strings.Join(w.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"notes.md"}%s}}`, n, meta)), "\n")
	}
	const content, denied = `1\tthe notes`, "the deny rule Read(notes.md)"
	if got := read(first); !strings.Contains(got, content) {
		t.Fatal(got)
	}
	for i, step := range []struct{ text, want, note string }{
		{`{"permissions":{"deny":["Read(notes.md)"]}}`, denied, ""},
		{`{"permissions":`, denied, "cannot be used, so the earlier ones still hold"},
		{`{"permissions":{}}`, content, ""},
	} {
		save(file, step.text)
		if i == 0 {
			second.exchange(t, initialize)
		}
		for name, w := range map[string]*httpWire{"old": first, "new": second, "none": none} {
			got := read(w)
			if step.want == content && w != none {
				got = strings.Replace(got, "has not changed since it was last read here", content, 1)
			}
			if !strings.Contains(got, step.want) || step.note != "" && w != none && !strings.Contains(got, step.note) {
				t.Errorf("%s session, %s: %s", name, step.text, got)
			}
		}
	}
}
