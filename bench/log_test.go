package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogLine(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []int{1, 999_999, 1_000_000, logFrom, logLines} {
		line := string(logLine(nil, n))
		if len(line) != lineSize || strings.Index(line, "\n") != lineSize-1 || seen[line] {
			t.Errorf("line %d: %q", n, line)
		}
		seen[line] = true
	}
}

func TestSedWay(t *testing.T) {
	if _, err := exec.LookPath("sed"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := makeLog(path, 50); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 50*lineSize {
		t.Errorf("%v, %v", info, err)
	}
	got, ms, err := sedWay("7,8p;8q", path).read(t.Context())
	if want := string(logLine(logLine(nil, 7), 8)); err != nil || string(got) != want || ms <= 0 {
		t.Errorf("%q in %v ms, %v, want %q", got, ms, err, want)
	}
}

// TestOnce: what is not the lines asked for is no measurement.
func TestOnce(t *testing.T) {
	if _, err := exec.LookPath("sed"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := makeLog(path, 50); err != nil {
		t.Fatal(err)
	}
	w := sedWay("7,8p", path)
	if err := w.once(t.Context()); err == nil || len(w.ms) != 0 {
		t.Errorf("%v, %v", err, w.ms)
	}
}
