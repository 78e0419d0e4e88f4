package watch

import (
	"errors"
	"fmt"
	"mcp-toolset/internal/exec/mounttest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// scene is a watched folder "dir" with the watched file "f" in it, and a folder
// outside.
type scene struct {
	*testing.T
	w            *Watcher[string]
	dir, outside string
	fd           int
}

func newScene(t *testing.T, limit int) *scene {
	t.Helper()
	w, err := New[string](limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s := &scene{T: t, w: w, dir: t.TempDir(), outside: t.TempDir()}
	s.write(s.dir+"/f", "text")
	s.fd, err = unix.Open(s.dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(s.fd) }) // -1 if a test closed it
	if !Reports(s.fd) {
		t.Skip("the file system does not tell of changes")
	}
	s.must(s.folder("dir"))
	s.must(s.file("f"))
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) folder(key string) error {
	_, _, err := s.w.Folder(s.fd, key)
	return err
}

func (s *scene) file(name string) error {
	_, _, err := s.w.File(s.fd, name, name)
	return err
}

func (s *scene) write(path, text string) {
	s.Helper()
	s.must(os.WriteFile(path, []byte(text), 0o644))
}

var kinds = map[Kind]string{Entries: "entries", Attributes: "attributes", Content: "content", Ended: "ended"}

// told returns the changes, each once and sorted.
func (s *scene) told() []string {
	s.Helper()
	var all []string
	s.must(s.w.Drain(func(key string, what Kind) { all = append(all, key+" "+kinds[what]) }))
	slices.Sort(all)
	return slices.Compact(all)
}

func TestTold(t *testing.T) {
	s := newScene(t, 0)
	f, g, out := s.dir+"/f", s.dir+"/g", s.outside+"/out"
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"nothing", func() error { return nil }, nil},
		{"read", func() error { _, err := os.ReadFile(f); return err }, nil},
		{"store", func() error { s.write(f, "other"); return nil }, []string{"f content"}},
		{"mode", func() error { return os.Chmod(f, 0o600) }, []string{"f content"}},
		{"truncate", func() error { return os.Truncate(f, 1) }, []string{"f content"}},
		{"create", func() error { s.write(g, "g"); return nil }, []string{"dir entries"}},
		{"not watched", func() error { s.write(g, "gg"); return nil }, nil},
		{"link outside", func() error { return os.Link(f, out) }, []string{"f content"}},
		{"store through it", func() error { s.write(out, "through"); return nil }, []string{"f content"}},
		{"remove it", func() error { return os.Remove(out) }, []string{"f content"}},
		{"move out", func() error { return os.Rename(f, out) }, []string{"dir entries"}},
		{"store there", func() error { s.write(out, "there"); return nil }, []string{"f content"}},
		{"move in", func() error { return os.Rename(out, f) }, []string{"dir entries"}},
		{"replace", func() error { return os.Rename(g, f) }, []string{"dir entries", "f content", "f ended"}},
		{"remove", func() error { return os.Remove(f) }, []string{"dir entries"}},
		{"make a folder", func() error { return os.Mkdir(g, 0o755) }, []string{"dir entries"}},
		{"its mode", func() error { return os.Chmod(g, 0o700) }, nil},
		{"the mode", func() error { return os.Chmod(s.dir, 0o700) }, []string{"dir attributes"}},
		{"move the folder", func() error { return os.Rename(s.dir, s.dir+"2") }, []string{"dir entries"}},
		{"and back", func() error { return os.Rename(s.dir+"2", s.dir) }, []string{"dir entries"}},
		{"remove the folder", func() error { return os.Remove(g) }, []string{"dir entries"}},
		{"remove all", func() error { unix.Close(s.fd); s.fd = -1; return os.Remove(s.dir) }, []string{"dir ended"}},
	} {
		s.must(step.do())
		got := s.told()
		if step.name == "remove all" { // some kernels report attributes first
			got = slices.DeleteFunc(got, func(what string) bool { return what == "dir attributes" })
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	if n := s.w.Len(); n != 0 {
		t.Error(n, "watches are left")
	}
}

func TestOneWatchForEachInode(t *testing.T) {
	s := newScene(t, 0)
	s.must(os.Link(s.dir+"/f", s.dir+"/g"))
	s.told()
	former, had, err := s.w.File(s.fd, "g", "g")
	if former != "f" || !had || err != nil {
		t.Error(former, had, err)
	}
	s.write(s.dir+"/f", "other")
	if diff := cmp.Diff([]string{"g content"}, s.told()); diff != "" {
		t.Error(diff)
	}
	if _, had, _ := s.w.Folder(s.fd, "dir"); !had {
		t.Error("the folder was watched")
	}
}

// TestLinkIsNotFollowed watches a link itself.
func TestLinkIsNotFollowed(t *testing.T) {
	s := newScene(t, 0)
	s.write(s.outside+"/x", "x")
	s.must(os.Symlink(s.outside+"/x", s.dir+"/link"))
	s.told()
	s.must(s.file("link"))
	s.write(s.outside+"/x", "other")
	if got := s.told(); got != nil {
		t.Error(got)
	}
}

func TestOverflow(t *testing.T) {
	s := newScene(t, 0)
	for i := range 60_000 { // about three times the number that the kernel queues by default
		s.must(os.Chmod(s.dir+"/f", 0o600))
		if i%2 == 0 {
			s.must(os.Chmod(s.dir, 0o700))
		}
	}
	for range 2 {
		if err := s.w.Drain(func(string, Kind) {}); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	}
	if err := s.folder("dir"); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

func TestLimit(t *testing.T) {
	s := newScene(t, 3)
	for i := range 2 {
		s.write(filepath.Join(s.dir, fmt.Sprint(i)), "")
	}
	s.must(s.file("0"))
	if err := s.file("1"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	s.w.Prune(func(key string) bool { return key != "0" })
	if n := s.w.Len(); n != 2 {
		t.Error(n, "watches")
	}
	s.told()
	s.must(s.file("1"))
	s.write(s.dir+"/0", "pruned")
	s.write(s.dir+"/1", "other")
	if diff := cmp.Diff([]string{"1 content"}, s.told()); diff != "" {
		t.Error(diff)
	}
}

func TestMount(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	s := newScene(t, 0)
	if err := unix.Mount(s.outside, s.dir, "", unix.MS_BIND, ""); err != nil {
		t.Skip("cannot mount:", err)
	}
	s.must(unix.Unmount(s.dir, 0))
	if err := s.w.Drain(func(string, Kind) {}); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	s := newScene(t, 0)
	for range 2 {
		s.must(s.w.Close())
	}
	if err := s.folder("dir"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := s.w.Drain(nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	s.w.Prune(func(string) bool { return false })
}

func BenchmarkDrain(b *testing.B) {
	w, err := New[int](0)
	if err != nil {
		b.Skip(err)
	}
	defer w.Close()
	for b.Loop() {
		if err := w.Drain(func(int, Kind) {}); err != nil {
			b.Fatal(err)
		}
	}
}
