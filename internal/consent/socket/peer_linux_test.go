package socket

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUsers(t *testing.T) {
	for _, tc := range []struct {
		peer, own int
		want      string
	}{{1000, 1000, ""}, {0, 1000, ""}, {0, 0, ""}, {1001, 1000, "user 1001 cannot decide on approvals of user 1000"}, {1000, 0, "user 1000 cannot decide on approvals of user 0"}} {
		err := checkUser(tc.peer, tc.own)
		if tc.want == "" && err != nil {
			t.Errorf("%+v: %v", tc, err)
		} else if tc.want != "" {
			if err == nil || err.Error() != tc.want {
				t.Errorf("%+v: %v", tc, err)
			}
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
		{"a command", 70, 0, ErrBelow},
		{"its child", 80, 0, ErrBelow},
		{"below another server", 71, 0, ErrBelow},
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
	if err := checkAncestors(70, 50, func(pid int) (relative, error) { r := base[pid]; r.sameProgram = false; return r, nil }); err != ErrBelow {
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
