package classifier

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
)

// TestCommandHangsAsItStarts checks that a command whose start hangs is waited
// for no longer than its context.
func TestCommandHangsAsItStarts(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir := t.TempDir()
	end := silentfs.Mount(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := run(ctx, Stage{Command: []string{filepath.Join(dir, "judge")}}, nil)
		got <- err
	}()
	select {
	case err := <-got:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the error is", err)
		}
	case <-time.After(patience):
		t.Error("it waits")
		end()
		<-got
	}
}
