package approval

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/process"
)

// These tests, and those of all systems, run on Windows and under Wine:
//
//	GOOS=windows go test -c -o /tmp/approval.exe ./internal/approval && wine /tmp/approval.exe

// TestBelow checks that what a server started decides on nothing, by its parents.
func TestBelow(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	for _, args := range [][]string{{os.Args[0]}, {"cmd.exe", "/c", os.Args[0]}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "APPROVAL_CHILD=client", "APPROVAL_STATE="+s.state)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != errBelow.Error() {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	if s.Take(call("a")) {
		t.Error("granted")
	}
	if !strings.Contains(s.log.String(), errBelow.Error()) {
		t.Errorf("the log says %q", s.log)
	}
}

// TestOrphan checks that a command is known by its job when the process that
// started it has ended, so that nothing of a server is above it.
func TestOrphan(t *testing.T) {
	s := newServer(t, "")
	s.pend(t, call("a"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	runner := process.NewRunner(process.Config{})
	defer runner.Close(0)
	// A copy is not the program of a server, so that only the job tells.
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(shortDir(t), "copied.exe")
	if err := os.WriteFile(copied, data, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := runner.Start(t.Context(), process.Spec{
		Args: []string{copied}, Dir: os.TempDir(), Output: w,
		Env: append(os.Environ(), "APPROVAL_CHILD=orphan", "APPROVAL_STATE="+s.state),
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if got := strings.TrimSpace(string(out)); err != nil || got != errBelow.Error() {
		t.Errorf("an orphan was told %q, %v", got, err)
	}
	_ = p.End(0)
	if s.Take(call("a")) {
		t.Error("granted")
	}
}

// wine reports whether the tests run there.
var wine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

// beOrphan starts a process that starts a client and ends. It hands on what the
// client prints.
func beOrphan() {
	r, w, _ := os.Pipe()
	_ = childOf("middle", w).Run()
	_ = w.Close()
	_, _ = io.Copy(os.Stdout, r)
}

// childOf returns this program as a child of a test, apart from its console.
func childOf(what string, out *os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "APPROVAL_CHILD="+what)
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS}
	return cmd
}

func beMiddle() { _ = childOf("waiting client", os.Stdout).Start() }

// waitForParent waits until the process that started this one has ended.
func waitForParent() {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(os.Getppid()))
	if err != nil {
		return // it has ended
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

// TestLook checks what is known of a process.
func TestLook(t *testing.T) {
	self, err := lookFrom(os.Getpid())(os.Getpid())
	if err != nil || self.parent != os.Getppid() && self.parent != 0 || !self.ours || self.start == "" {
		t.Errorf("%+v, %v", self, err)
	}
	if _, err := lookFrom(1 << 30)(1 << 30); err == nil {
		t.Error("a process was seen that is not there")
	}
}

// TestPipe checks who can open a pipe, and that nobody takes the place of a server.
func TestPipe(t *testing.T) {
	name := pipePrefix + "test"
	l, err := newPipeListener(name)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := newPipeListener(name); err == nil {
		if !wine { // which does not look at the flag
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
	// All rights of a pipe, of one user, inherited by nobody and from nobody.
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

// TestPipeName checks that a file leads to pipes of servers only, and that a server
// which has gone is none that does not answer.
func TestPipeName(t *testing.T) {
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	at := filepath.Join(s.door.folder, pointerName)
	for _, name := range []string{"", `\\.\pipe\other`, pipePrefix, pipePrefix + `a\b`, `\\host\pipe\mcp-toolset-approval-a`, `C:\x`} {
		if err := os.WriteFile(at, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := socketOf(s.door.folder)
		if want := at + " does not name a pipe"; err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if err := os.WriteFile(at, []byte(pipePrefix+"gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Approve(t.Context(), s.state, n, false)
	wants(t, err, ErrNoServer.Error())
}
