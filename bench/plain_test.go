package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPlain(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "one\nTwo one\n", "b_test.go": "two\n", "bin": "one\x00", ".git/x_test.go": "one\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		searchCase
		want int64
	}{
		{searchCase{args: grepArgs("one", "content", 0), rg: []string{"-n", "one"}}, 2},
		{searchCase{args: grepArgs("one", "files_with_matches", 0), rg: []string{"-l", "one"}}, 1},
		{searchCase{args: withArg(grepArgs("two", "count", 0), "-i", true), rg: []string{"-c", "two"}}, 2},
		{searchCase{args: map[string]any{"pattern": "**/*_test.go"}, rg: []string{"--files"}}, 1},
	} {
		if got, err := tc.plain(dir); got != tc.want || err != nil {
			t.Errorf("%v: %d, %v; want %d", tc.args, got, err, tc.want)
		}
	}
	if _, err := (searchCase{args: grepArgs("(", "content", 0), rg: []string{"-n"}}).plain(dir); err == nil {
		t.Error("a pattern that is none")
	}
}
