package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/assembly"
)

// TestKeptFromCommands: folders of ours that are there are hidden whole, those
// that are not are protected by name, and the state folder needs nothing.
func TestKeptFromCommands(t *testing.T) {
	h := host(t, map[string]string{})
	h.Home = h.Dir
	conf, state := filepath.Join(h.Dir, ".config/mcp-toolset"), filepath.Join(h.Dir, ".local/state/mcp-toolset")
	look := func() (closed, protected []string) {
		t.Helper()
		c := common{settings: "given.json"}
		config := assembly.Config{Roots: []string{h.Dir}, State: state, Log: slog.New(slog.DiscardHandler), Closed: []string{"/token"}}
		if err := c.findSettings(h, &config); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(config.Closed, conf) || !slices.Contains(config.Closed, state) || !slices.Contains(config.Guarded, filepath.Join(h.Dir, "given.json")) {
			t.Errorf("closed to tools %q, guarded %q", config.Closed, config.Guarded)
		}
		return c.keptFromCommands(config)
	}
	if err := os.WriteFile(filepath.Join(h.Dir, "given.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(list []string, part string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
	}
	closed, protected := look()
	if in(closed, conf) || in(closed, state) || !slices.Contains(closed, "/token") || !slices.Contains(protected, conf) || in(protected, state) || !in(protected, "given.json") {
		t.Errorf("absent: closed %q, protected %q", closed, protected)
	}
	for _, dir := range []string{conf, state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	closed, protected = look()
	if !slices.Contains(closed, conf) || !slices.Contains(closed, state) || in(protected, conf) || in(protected, state) || !in(protected, "given.json") {
		t.Errorf("there: closed %q, protected %q", closed, protected)
	}
}
