package pdf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
)

// TestConfined checks that a file system is set; the default would be the whole one.
func TestConfined(t *testing.T) {
	c := confined(wazero.NewCompilationCache(), smallMemory)
	if c.FSConfig == nil || c.Stdout == nil || c.Stderr == nil {
		t.Errorf("the engine gets what is the process's: %+v", c)
	}
}

// TestDamagedCache checks that a damaged cache is replaced and the file still read.
func TestDamagedCache(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(cacheDir)); err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the cache has %v, %v", entries, err)
	}
	if err := os.Chmod(entries[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(entries[0], 1000); err != nil {
		t.Fatal(err)
	}
	data := numbered(1).bytes()
	d, err := Read(bytes.NewReader(data), int64(len(data)), Request{Cache: dir})
	if err != nil || d.Pages[0].Text != "Page 1" {
		t.Fatalf("%+v, %v", d, err)
	}
	if _, err := os.Stat(entries[0]); err == nil {
		t.Error("what is damaged is still in the cache")
	}
}

// TestTime checks that the answer holds the pages read until the time ran out.
func TestTime(t *testing.T) {
	d := mustRead(t, numbered(5).bytes(), Request{Time: time.Nanosecond})
	if len(d.Pages) != 1 || d.Next != 2 {
		t.Errorf("%s", show(d))
	}
}
