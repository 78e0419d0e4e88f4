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

	"mcp-toolset/internal/consent/socket"
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
		if got := strings.TrimSpace(string(out)); err != nil || got != socket.ErrBelow.Error() {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	if s.Take(call("a")) != 0 {
		t.Error("granted")
	}
	if !strings.Contains(s.log.String(), socket.ErrBelow.Error()) {
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
	if got := strings.TrimSpace(string(out)); err != nil || got != socket.ErrBelow.Error() {
		t.Errorf("an orphan was told %q, %v", got, err)
	}
	_ = p.End(0)
	if s.Take(call("a")) != 0 {
		t.Error("granted")
	}
}

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
