package server

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// standardInputs returns blocking files of the kinds that clients use as the standard
// input of a server, each with its writing end.
func standardInputs(t *testing.T) map[string][2]*os.File {
	t.Helper()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][2]*os.File{}
	for name, fds := range map[string][2]int{"pipe": pipe, "socket": sockets} {
		in, out := os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)
		t.Cleanup(func() { in.Close(); out.Close() })
		files[name] = [2]*os.File{in, out}
	}
	return files
}

// TestPolled checks that input arrives completely and in order, that waiting is
// done by the runtime and holds no processor, and that the file's flags are
// unchanged.
func TestPolled(t *testing.T) {
	for name, ends := range standardInputs(t) {
		t.Run(name, func(t *testing.T) {
			r, leave := waitable(ends[0])
			defer leave()
			if _, ok := r.(*polled); !ok {
				t.Fatalf("it is read as %T", r)
			}
			type piece struct {
				text string
				err  error
			}
			got := make(chan piece)
			go func() {
				buf := make([]byte, 5)
				for {
					n, err := r.Read(buf)
					got <- piece{string(buf[:n]), err}
					if err != nil {
						return
					}
				}
			}()
			parked(t)
			for _, s := range []string{"a", "line\n", "a long line\n"} {
				if _, err := ends[1].WriteString(s); err != nil {
					t.Fatal(err)
				}
				for rest := s; rest != ""; {
					p := <-got
					if p.err != nil || !strings.HasPrefix(rest, p.text) {
						t.Fatalf("got %q, %v; want what %q begins with", p.text, p.err, rest)
					}
					rest = rest[len(p.text):]
				}
			}
			flags, err := unix.FcntlInt(ends[0].Fd(), unix.F_GETFL, 0)
			if err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("flags %#x, %v: it does not block any more", flags, err)
			}
			ends[1].Close()
			if p := <-got; p.err != io.EOF {
				t.Errorf("at the end: %q, %v", p.text, p.err)
			}
		})
	}
}

// TestPolledEnd checks that a waiting Read ends.
func TestPolledEnd(t *testing.T) {
	for name, ends := range standardInputs(t) {
		t.Run(name, func(t *testing.T) {
			r, leave := waitable(ends[0])
			failed := make(chan error)
			go func() {
				_, err := r.Read(make([]byte, 1))
				failed <- err
			}()
			parked(t)
			leave()
			if err := <-failed; err == nil {
				t.Error("it read something")
			}
		})
	}
}

// TestNotPolled checks that input that never blocks is read directly.
func TestNotPolled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, in := range []io.Reader{f, strings.NewReader("text")} {
		r, leave := waitable(in)
		if r != in {
			t.Errorf("%T is read as %T", in, r)
		}
		if data, err := io.ReadAll(r); string(data) != "text" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		leave()
	}
}

// parked waits until a reader waits in the poller.
func parked(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(deadline); ; <-time.After(time.Millisecond) {
		all := string(buf[:runtime.Stack(buf, true)])
		for _, g := range strings.Split(all, "\n\n") {
			if head, rest, _ := strings.Cut(g, "\n"); strings.Contains(head, "[IO wait]") && strings.Contains(rest, "(*polled).Read") {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("nobody waits in the poller:\n%s", all)
		}
	}
}
