package socket

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"mcp-toolset/internal/exec/process"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// wine reports whether the tests run under Wine.
var wine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

// TestLook checks the facts about a process.
func TestLook(t *testing.T) {
	self, err := lookFrom(os.Getpid())(os.Getpid())
	if err != nil || self.parent != os.Getppid() && self.parent != 0 || !self.sameProgram || self.start == "" {
		t.Errorf("%+v, %v", self, err)
	}
	if _, err := lookFrom(1 << 30)(1 << 30); err == nil {
		t.Error("a process was seen that is not there")
	}
}

// TestPipe checks who can open a pipe, and that no process can take the name of
// a server's pipe.
func TestPipe(t *testing.T) {
	name := pipePrefix + "test"
	l, err := newPipeListener(name)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := newPipeListener(name); err == nil {
		if !wine { // Wine ignores the flag
			t.Error("two servers have one pipe")
		}
		_ = other.Close()
	}
	sd, err := windows.GetSecurityInfo(l.next, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	sid, err := process.OwnSID()
	if err != nil {
		t.Fatal(err)
	}
	// One user has all rights of the pipe, and nothing is inherited.
	if got := sd.String(); !strings.HasPrefix(got, "O:"+sid) || strings.Count(got, "(A;") != 1 || !strings.HasSuffix(got, ";;;"+sid+")") || !strings.Contains(got, "D:P") {
		t.Errorf("the descriptor is %s, want all rights for %s alone", got, sid)
	}
	l.stop()
	if _, err := l.accept(); err == nil {
		t.Error("a client after the end")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dial(t.Context(), name); err == nil {
		t.Error("connected to nothing")
	}
}

// TestPipeName checks that a file can only name pipes of servers, and that a
// server that has ended does not count as one that does not answer.
func TestPipeName(t *testing.T) {
	s := open(t)
	at := filepath.Join(s.At(), pointerName)
	for _, name := range []string{"", `\\.\pipe\other`, pipePrefix, pipePrefix + `a\b`, `\\host\pipe\mcp-toolset-approval-a`, `C:\x`} {
		if err := os.WriteFile(at, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := socketOf(s.At())
		if want := at + " does not name a pipe"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if err := os.WriteFile(at, []byte(pipePrefix+"gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), s.At()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func open(t *testing.T) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // Wine cannot remove all of it
	s := New(dir, slog.New(slog.DiscardHandler))
	s.Handle("", func(context.Context, *Peer) {})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
