//go:build unix

package socket

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPointer checks that a pointer to another place than the private folder of a socket is not
// followed.
func TestPointer(t *testing.T) {
	temp, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	t.Setenv("TMPDIR", temp)
	s := New(filepath.Join(t.TempDir(), strings.Repeat("long/", 25)), slog.New(slog.DiscardHandler))
	s.Handle("", func(context.Context, *Peer) {})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := filepath.Join(s.At(), pointerName)
	own := s.endpoint.temp
	if info, err := os.Lstat(own); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(own) != temp {
		t.Fatalf("%s: %v, %v", own, info, err)
	}
	for _, path := range []string{temp + "/other/s", own + "/other", "s", own + "/../s", ""} {
		if err := os.WriteFile(at, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := socketOf(s.At()); err == nil {
			t.Errorf("%q leads to %q", path, got)
		}
	}
	if err := os.WriteFile(at, []byte(filepath.Join(own, socketName)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(own, 0o711); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), s.At()); err == nil || !strings.HasSuffix(err.Error(), own+" is not a private folder of this user") {
		t.Errorf("%v", err)
	}
}
