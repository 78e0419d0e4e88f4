package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFile writes a result piece by piece. A piece over the quota fails and changes nothing.
// Truncated or discarded bytes leave their room to other results.
func TestFile(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 100, &now)
	dir := s.Hold("x")
	f, err := s.Create(dir, "Grep")
	if err != nil {
		t.Fatal(err)
	}
	add := func(f *File, char string, n int, want error) {
		t.Helper()
		if _, err := f.Write([]byte(strings.Repeat(char, n))); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", n, err, want)
		}
	}
	counts := func(want int64) {
		t.Helper()
		if got := used(s); got != want {
			t.Errorf("%d bytes are counted, want %d", got, want)
		}
	}
	add(f, "a", 60, nil)
	add(f, "b", 60, ErrQuota)
	counts(60)
	if err := f.Truncate(10); err != nil || f.Size() != 10 {
		t.Errorf("%d bytes, %v", f.Size(), err)
	}
	counts(10)
	add(f, "c", 80, nil)
	other, err := s.Create(dir, "Grep")
	if err != nil {
		t.Fatal(err)
	}
	add(other, "d", 10, nil)
	counts(100)
	other.Discard()
	counts(90)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Path())
	if want := strings.Repeat("a", 10) + strings.Repeat("c", 80); err != nil || string(got) != want || exists(other.Path()) {
		t.Errorf("%q, %v; the one discarded is there: %t", got, err, exists(other.Path()))
	}
}
