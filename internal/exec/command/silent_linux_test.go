package command

import (
	"path/filepath"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
)

// TestMalformedHangs checks that a shell that hangs at its start reports no syntax
// error, and that the wait for it ends.
func TestMalformedHangs(t *testing.T) {
	t.Parallel()
	if !mounttest.Own(t) {
		return
	}
	dir := t.TempDir()
	end := silentfs.Mount(t, dir)
	c := &Commands{shell: filepath.Join(dir, "bash")}
	got := make(chan bool, 1)
	go func() { got <- c.Malformed("if") }()
	select {
	case malformed := <-got:
		if malformed {
			t.Error("it found an error")
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits")
		end()
		<-got
	}
}
