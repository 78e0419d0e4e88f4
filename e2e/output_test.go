package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputOverHTTP checks that --output has the last result of all sessions, and that each session
// learns that a later call replaces it.
func TestOutputOverHTTP(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	schema, file := filepath.Join(dir, "schema.json"), filepath.Join(dir, "result.json")
	if err := os.WriteFile(schema, []byte(`{"type":"object","required":["title"],"properties":{"title":{"type":"string"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	first := serveWith(t, root, "--output-schema", schema, "--output", file)
	second := &httpWire{url: first.url}
	for _, w := range []*httpWire{first, second} {
		w.exchange(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		w.exchange(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	const modern = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const written = "The final result fits the schema and is written to the file of the user. A later call replaces it."
	for i, tc := range []struct {
		wire        *httpWire
		title, meta string
		want        string
	}{
		{first, `"a"`, "", written + `"`},
		{second, `"b"`, "", written + `"`},
		{first, `"c"`, "", written + `"`},
		{second, `1`, "", `property \"title\" is 1. Send a string.`},
		{&httpWire{url: first.url}, `"d"`, modern, written + `"`},
		{&httpWire{url: first.url}, `"e"`, modern, written + `"`},
	} {
		got := tc.wire.exchange(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"SyntheticOutput","arguments":{"title":%s}%s}}`, i+1, tc.title, tc.meta))
		if len(got) != 1 || !strings.Contains(got[0], tc.want) {
			t.Errorf("%s: %s\nwant %s", tc.title, got, tc.want)
		}
		data, err := os.ReadFile(file)
		if want := fmt.Sprintf("{\"title\":%s}\n", tc.title); tc.title != "1" && (err != nil || string(data) != want) {
			t.Errorf("the file is %q (%v), want %q", data, err, want)
		}
	}
}
