package document

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
)

// A call that is cancelled while its process hangs at its start returns, and the memory
// reserved for the process is released.
func TestHangsAsItStarts(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	r, _ := testReader(t, maxMemory, maxTime)
	dir := t.TempDir()
	end := silentfs.Mount(t, dir)
	r.self = func() (program, error) { return program{filepath.Join(dir, "self"), "/self"}, nil }
	f := tempFile(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := read[string](ctx, r, f, request{Kind: "value", Memory: maxMemory})
		got <- err
	}()
	select {
	case err := <-got:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the error is", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits")
		end()
		<-got
	}
	if !r.freeMemory.TryAcquire(maxMemory) {
		t.Error("its memory is not given back")
	}
}
