//go:build unix

package read

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/tools/toolstest"
)

// TestSpecialFiles checks that a read does not wait for anything but regular files.
func TestSpecialFiles(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	if err := syscall.Mkfifo(filepath.Join(w.Root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(dir, "s"), filepath.Join(w.Root, "sock")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, want := range map[string]string{
		"fifo": "$ROOT/fifo is a named pipe, not a file. Only regular files can be read.",
		"sock": "$ROOT/sock is a socket, not a file. Only regular files can be read.",
	} {
		done := make(chan error, 1)
		go func() {
			_, err := w.Call(ctx, New(Options{}), `{"file_path":"`+name+`"}`)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || strings.ReplaceAll(err.Error(), w.Root, "$ROOT") != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		case <-ctx.Done():
			t.Fatalf("%s hangs", name)
		}
	}
}
