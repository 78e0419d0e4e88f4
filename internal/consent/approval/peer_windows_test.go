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

	"mcp-toolset/internal/exec/process"
)

// These tests, and those of all systems, run on Windows and under Wine:
//
//	GOOS=windows go test -c -o /tmp/approval.exe ./internal/consent/approval && wine /tmp/approval.exe

// TestBelow checks that a process that a server started, found by its parents,
// cannot decide.
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

// TestOrphan checks that a command is recognized by its job object even if its
// parent has ended, so that no server is among its ancestors.
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
	// A copy is not the program of a server, so that only the job object
	// identifies it.
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

// wine reports whether the tests run under Wine.
var wine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

// beOrphan starts a process that starts a client and ends. It passes on the
// output of the client.
func beOrphan() {
	r, w, _ := os.Pipe()
	_ = childOf("middle", w).Run()
	_ = w.Close()
	_, _ = io.Copy(os.Stdout, r)
}

// childOf returns a command that runs this program as a child of a test,
// detached from its console.
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
		return // the parent has ended
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

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
	s := newServer(t, "")
	n := s.pend(t, call("a"))
	at := filepath.Join(s.endpoint.folder, pointerName)
	for _, name := range []string{"", `\\.\pipe\other`, pipePrefix, pipePrefix + `a\b`, `\\host\pipe\mcp-toolset-approval-a`, `C:\x`} {
		if err := os.WriteFile(at, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := socketOf(s.endpoint.folder)
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
