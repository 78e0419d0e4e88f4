package pin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain also runs the test binary as the other processes of a test.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PIN_STATE"); dir != "" {
		if err := work(open(dir), os.Getenv("PIN_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// work acts like a server: it lists one shared upstream server and one of its own.
func work(s *Store, name string) error {
	for i := range 8 {
		for _, server := range []string{"shared", name} {
			if _, err := s.Update(server, "c", list("always", fmt.Sprintf("%s-%d", name, i))); err != nil {
				return err
			}
			if _, ok := s.Cached(server, "c"); !ok {
				return fmt.Errorf("no listing of %s", server)
			}
		}
		shown, err := s.Diff(name)
		if err != nil {
			return err
		}
		if err := s.Accept(name, shown); err != nil {
			return err
		}
	}
	if got := s.Changed(name, "c"); got != nil {
		return fmt.Errorf("changed: %v", got)
	}
	return nil
}

// TestTogether checks that several servers and goroutines can share the files.
func TestTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PIN_STATE="+dir, fmt.Sprint("PIN_NAME=process", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	s := open(dir)
	for i := range 3 {
		all.Go(func() {
			if err := work(s, fmt.Sprint("here", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	names, err := s.Servers()
	if diff := cmp.Diff([]string{"here0", "here1", "here2", "process0", "process1", "process2", "shared"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// Of the shared server, only the first listing counts as seen.
	shown, err := s.Diff("shared")
	if err != nil || slices.ContainsFunc(shown, func(c Change) bool { return c.Tool == "always" }) {
		t.Errorf("%v, %v", shown, err)
	}
	if files, err := filepath.Glob(filepath.Join(s.folder, "*.new")); err != nil || len(files) > 0 {
		t.Error(files, err)
	}
}
