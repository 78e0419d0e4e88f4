package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadAgainWithoutSession repeats a read in the revision without sessions. Over stdio
// there is one client, so the second answer states that the file has not changed. Over
// HTTP requests cannot be assigned to clients, so each answer has the content.
func TestReadAgainWithoutSession(t *testing.T) {
	const read = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	const content, unchanged = `1\tone`, `has not changed since it was last read here`
	for _, tc := range []struct {
		name  string
		start func(*testing.T, string) wire
		want  []string
	}{
		{"stdio", startStdio, []string{content, unchanged, content}},
		{"http", startHTTP, []string{content, content, content}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			w := tc.start(t, root)
			for i, want := range tc.want {
				if got := strings.Join(w.exchange(t, fmt.Sprintf(read, i)), "\n"); !strings.Contains(got, want) {
					t.Errorf("read %d: %s, want %s", i+1, got, want)
				}
			}
		})
	}
}
