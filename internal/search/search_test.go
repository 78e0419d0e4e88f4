package search

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"mcp-toolset/internal/search/match"
	"mcp-toolset/internal/search/walk"
)

func opener(dir string) walk.Opener { return func() (*os.File, error) { return os.Open(dir) } }

func line(dst []byte, path string, n int, l []byte, hit bool) []byte {
	sep := byte('-')
	if hit {
		sep = ':'
	}
	dst = append(append(dst, path...), sep)
	dst = append(strconv.AppendInt(dst, int64(n), 10), sep)
	return append(append(dst, l...), '\n')
}

func query(t testing.TB, pattern string, mode Mode) *Query {
	m, err := match.Compile(pattern, match.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Query{Match: m, Mode: mode, Line: line, Binary: func(dst []byte, path string) []byte { return append(dst, path+": binary file matches\n"...) }}
}

func rgPath() string {
	if p := os.Getenv("RIPGREP"); p != "" {
		return p
	}
	p, _ := exec.LookPath("rg")
	return p
}
