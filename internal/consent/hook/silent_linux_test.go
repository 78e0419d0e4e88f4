package hook

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
)

// TestHookHangsAsItStarts checks that a hook whose start hangs delays its call
// no longer than the call's context, and does not stop the garbage collector.
func TestHookHangsAsItStarts(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	w := newWorld(t)
	dir := t.TempDir()
	end := silentfs.Mount(t, dir)
	w.shell = filepath.Join(dir, "bash")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := make(chan ended, 1)
	go func() { got <- w.execute(ctx, Hook{Command: "true", Timeout: time.Hour}, w.dir, nil) }()
	for ctx.Err() == nil {
		runtime.GC()
	}
	select {
	case e := <-got:
		if !e.cancelled || e.err != nil {
			t.Errorf("got %+v", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits")
		end()
		<-got
	}
}
