package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/tools"
	"mcp-toolset/tools/edit"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/read"
	"mcp-toolset/tools/write"
)

// TestFormatter checks that a hook's change right after a write is not treated
// as a foreign change, and that a later change is.
func TestFormatter(t *testing.T) {
	b := newBench(t, "{}")
	b.Snapshots = snapshot.New(snapshot.Total)
	o := file.Options{Locks: filelock.New(t.TempDir()), Snapshots: b.Snapshots}
	registry, err := tools.NewRegistry([]*tools.Tool{write.New(o)}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	path := filepath.Join(b.root, "a.txt")
	b.hookAfter(t, "Write", func(hook.Input) hook.Verdict {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ToUpper(string(data))), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		return hook.Verdict{}
	})
	for _, content := range []string{"one", "two", "three"} {
		if got := b.run(t, t.Context(), "Write", `{"file_path":"a.txt","content":"`+content+`"}`); strings.HasPrefix(got, "failed") {
			t.Fatal(got)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != "THREE" {
		t.Errorf("the file has %q", got)
	}
	if err := os.WriteFile(path, []byte("else"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.run(t, t.Context(), "Write", `{"file_path":"a.txt","content":"four"}`)
	if !strings.Contains(got, "has changed since it was read") || !strings.Contains(got, "-THREE") {
		t.Error(got)
	}
}

// TestFormatterAfterAStaleEdit checks that an earlier foreign change is not
// attributed to the formatter.
func TestFormatterAfterAStaleEdit(t *testing.T) {
	b := newBench(t, "{}")
	b.Snapshots = snapshot.New(snapshot.Total)
	o := file.Options{Locks: filelock.New(t.TempDir()), Snapshots: b.Snapshots}
	registry, err := tools.NewRegistry([]*tools.Tool{read.New(read.Options{Snapshots: b.Snapshots}), write.New(o), edit.New(o)}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = registry
	path := filepath.Join(b.root, "a.txt")
	put := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one\n2\n3\n4\n5\n6\nseven\n")
	b.run(t, t.Context(), "Read", `{"file_path":"a.txt"}`)
	put("one\n2\n3\n4\n5\n6\nprecious\n")
	b.hookAfter(t, "Edit", func(hook.Input) hook.Verdict {
		put("ONE\n2\n3\n4\n5\n6\nprecious\n")
		return hook.Verdict{}
	})
	if got := b.run(t, t.Context(), "Edit", `{"file_path":"a.txt","old_string":"one","new_string":"One"}`); strings.HasPrefix(got, "failed") {
		t.Fatal(got)
	}
	if got := b.run(t, t.Context(), "Write", `{"file_path":"a.txt","content":"x"}`); !strings.Contains(got, "+precious") {
		t.Error(got)
	}
}
