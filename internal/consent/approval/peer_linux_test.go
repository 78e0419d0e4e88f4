package approval

import (
	"fmt"
	"mcp-toolset/internal/consent/socket"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBelow checks that descendants of a server, however remote, cannot decide
// at that server or at another one.
func TestBelow(t *testing.T) {
	s := newServer(t, "")
	if n := s.pend(t, call("a")); n != 1 {
		t.Fatal(n)
	}
	for _, args := range [][]string{
		{os.Args[0]},
		{"/bin/sh", "-c", `"$0"; :`, os.Args[0]},
		{"/bin/sh", "-c", `/bin/sh -c '"$0"; :' "$0"; :`, os.Args[0]},
		{"setsid", "-w", os.Args[0]},
	} {
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

// TestOrphan checks that an orphan remains a descendant of the process that
// adopts it. This process adopts orphans as a supervisor does for its commands.
func TestOrphan(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	s := newServer(t, "")
	s.pend(t, call("a"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `(while kill -0 $$ 2>/dev/null; do :; done; echo $(exec sh -c 'echo $PPID'); "$0") & exit`, os.Args[0])
	cmd.Env = append(os.Environ(), "APPROVAL_CHILD=client", "APPROVAL_STATE="+s.state)
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var pid int
	var rest string
	buf := make([]byte, 4096)
	for text := ""; rest == ""; {
		n, err := r.Read(buf)
		text += string(buf[:n])
		if head, tail, ok := strings.Cut(text, "\n"); ok && strings.Contains(tail, "\n") {
			if _, err := fmt.Sscan(head, &pid); err != nil {
				t.Fatal(err)
			}
			rest = strings.TrimSpace(tail)
		}
		if err != nil && rest == "" {
			t.Fatalf("%q, %v", text, err)
		}
	}
	_, _ = unix.Wait4(pid, nil, 0, nil)
	if rest != socket.ErrBelow.Error() || s.Take(call("a")) != 0 {
		t.Errorf("an orphan was told %q", rest)
	}
}
