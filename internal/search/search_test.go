package search

import (
	"os"
	"os/exec"

	"mcp-toolset/internal/search/walk"
)

func opener(dir string) walk.Opener { return func() (*os.File, error) { return os.Open(dir) } }

func rgPath() string {
	if p := os.Getenv("RIPGREP"); p != "" {
		return p
	}
	p, _ := exec.LookPath("rg")
	return p
}
