package results

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pieces returns a next function over a list that ends with err.
func pieces(err error, list ...string) func() (string, error) {
	return func() (string, error) {
		if len(list) == 0 {
			return "", err
		}
		p := list[0]
		list = list[1:]
		return p, nil
	}
}

func TestSaveParts(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 100, &now)
	dir := s.Hold("x")
	folder, count, err := s.SaveParts(dir, "line", "line", pieces(io.EOF, "one", "two", ""))
	if err != nil || count != 3 || folder != filepath.Join(dir, "line") {
		t.Fatalf("%s, %d, %v", folder, count, err)
	}
	for name, want := range map[string]string{"part-0001.txt": "one", "part-0002.txt": "two", "part-0003.txt": ""} {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	again, count, err := s.SaveParts(dir, "line", "line", pieces(errors.New("asked again")))
	if again != folder || count != 3 || err != nil {
		t.Errorf("the same once more: %s, %d, %v", again, count, err)
	}
	if used(s) != 6 {
		t.Errorf("%d bytes are counted, want 6", used(s))
	}
}

// TestSavePartsOfAnotherState checks that the parts of an earlier state of a text are removed.
func TestSavePartsOfAnotherState(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 100, &now)
	dir := s.Hold("x")
	for _, name := range []string{"a-1", "ab-1", "a-2"} {
		family, _, _ := strings.Cut(name, "-")
		if _, _, err := s.SaveParts(dir, family, name, pieces(io.EOF, "12345")); err != nil {
			t.Fatal(err)
		}
	}
	if exists(filepath.Join(dir, "a-1")) || !exists(filepath.Join(dir, "ab-1")) || !exists(filepath.Join(dir, "a-2")) || used(s) != 10 {
		t.Errorf("a former state is there, or another text is gone; %d bytes", used(s))
	}
}

// TestSavePartsWholeOrNot checks that a series that fails leaves no files and uses no quota.
func TestSavePartsWholeOrNot(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, 100, &now)
	dir := s.Hold("x")
	broken := errors.New("broken")
	if _, _, err := s.SaveParts(dir, "line", "line", pieces(broken, "one", "two")); !errors.Is(err, broken) {
		t.Errorf("a series that breaks off: %v", err)
	}
	if _, _, err := s.SaveParts(dir, "line", "line", pieces(io.EOF, strings.Repeat("x", 60), strings.Repeat("y", 60))); !errors.Is(err, ErrQuota) {
		t.Errorf("a series over the quota: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 || used(s) != 0 {
		t.Errorf("left behind: %v, %d bytes counted, %v", entries, used(s), err)
	}
}

// TestSavePartsAtOnce checks that of two equal series one is stored and the other's
// bytes return to the quota.
func TestSavePartsAtOnce(t *testing.T) { synctest.Test(t, testSavePartsAtOnce) }

func testSavePartsAtOnce(t *testing.T) {
	root, now := filepath.Join(t.TempDir(), "results"), time.Now()
	s := newStore(t, root, Quota, &now)
	dir := s.Hold("x")
	// A cleaning may count bytes twice that are reserved meanwhile.
	if _, err := s.Save(dir, "first", ""); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	// Both begin before either has ended.
	meet := make(chan struct{})
	part := func() func() (string, error) {
		n := 0
		return func() (string, error) {
			if n++; n > 1 {
				return "", io.EOF
			}
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
			return "one", nil
		}
	}
	done := make(chan error)
	for range 2 {
		next := part()
		go func() {
			folder, count, err := s.SaveParts(dir, "line", "line", next)
			if err == nil && (count != 1 || folder != filepath.Join(dir, "line")) {
				err = errors.New("another folder: " + folder)
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 || used(s) != 3 {
		t.Errorf("left: %v, %d bytes counted, %v", entries, used(s), err)
	}
}
