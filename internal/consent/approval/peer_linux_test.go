package approval

import (
	"errors"
	"fmt"
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
	if rest != errBelow.Error() || s.Take(call("a")) {
		t.Errorf("an orphan was told %q", rest)
	}
}

func TestUsers(t *testing.T) {
	for _, tc := range []struct {
		peer, own int
		want      string
	}{{1000, 1000, ""}, {0, 1000, ""}, {0, 0, ""}, {1001, 1000, "user 1001 cannot decide on approvals of user 1000"}, {1000, 0, "user 1000 cannot decide on approvals of user 0"}} {
		err := checkUser(tc.peer, tc.own)
		if tc.want == "" && err != nil {
			t.Errorf("%+v: %v", tc, err)
		} else if tc.want != "" {
			wants(t, err, tc.want)
		}
	}
}

func TestAncestors(t *testing.T) {
	// These are init, a daemon of another user, a shell, and a client in it;
	// the server 50 with its supervisor 60, a command 70, and a process that 70
	// started.
	base := map[int]relative{
		1: {pid: 1}, 10: {pid: 10, parent: 1}, 20: {pid: 20, parent: 10}, 30: {pid: 30, parent: 20, sameProgram: true},
		50: {pid: 50, parent: 20, sameProgram: true}, 60: {pid: 60, parent: 50, sameProgram: true}, 70: {pid: 70, parent: 60}, 80: {pid: 80, parent: 70, sameProgram: true},
		51: {pid: 51, parent: 1, sameProgram: true}, 71: {pid: 71, parent: 51}, 90: {pid: 90, parent: 91}, 91: {pid: 91, parent: 90},
	}
	for _, tc := range []struct {
		name    string
		pid     int
		foreign int
		want    error
	}{
		{"a person's", 30, 0, nil},
		{"below another user's", 30, 10, nil},
		{"the server itself", 50, 0, nil},
		{"a command", 70, 0, errBelow},
		{"its child", 80, 0, errBelow},
		{"below another server", 71, 0, errBelow},
		{"gone", 31, 0, errUnknown},
		{"of another namespace", 0, 0, errUnknown},
		{"another user's itself", 30, 30, errUnknown},
		{"a circle", 90, 0, errUnknown},
	} {
		err := checkAncestors(tc.pid, 50, func(pid int) (relative, error) {
			if pid == tc.foreign {
				return relative{}, errForeign
			}
			r, ok := base[pid]
			if !ok {
				return r, os.ErrNotExist
			}
			return r, nil
		})
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	// Descendants of the server itself are found even if it runs another
	// program.
	if err := checkAncestors(70, 50, func(pid int) (relative, error) { r := base[pid]; r.sameProgram = false; return r, nil }); err != errBelow {
		t.Errorf("with another program: %v", err)
	}
	// The id is reused by another process between two looks.
	looks := 0
	if err := checkAncestors(30, 50, func(pid int) (relative, error) {
		looks++
		r := base[pid]
		r.start = fmt.Sprint(looks)
		return r, nil
	}); err != errUnknown {
		t.Errorf("with processes that change: %v", err)
	}
}

func TestLook(t *testing.T) {
	self, err := look(os.Getpid())
	if err != nil || self.parent != os.Getppid() || !self.sameProgram || self.start == "" {
		t.Errorf("%+v, %v", self, err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other, err := look(cmd.Process.Pid)
	if err != nil || other.parent != os.Getpid() || other.sameProgram {
		t.Errorf("%+v, %v", other, err)
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if ended(fd) {
		t.Error("ended before its end")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !ended(fd) {
		t.Error("not ended")
	}
	if _, err := look(cmd.Process.Pid); err == nil {
		t.Error("a process was seen that has ended")
	}
}
