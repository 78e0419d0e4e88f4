package sandbox

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTerminals checks that terminals of other processes are out of reach, even for
// programs that may not make any, and that a program can make its own terminal
// where there are mounts.
func TestTerminals(t *testing.T) {
	t.Parallel()
	maker, theirs, err := newTerminal()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer unix.Close(maker)
	for _, at := range tiers(t) {
		s := newScratch(t)
		for _, p := range []Policy{s.policy, s.readOnly()} {
			s.steps(t, at, p, []step{
				{"echo x > " + theirs, false, ""},
				{"exec 3< " + theirs, false, ""},
				{"exec 3< /dev/tty", false, ""},                                            // it has none
				{"[ $(ls /dev/pts | wc -l) = 1 ] && [ -c /dev/pts/ptmx ]", true, "mounts"}, // only ptmx
			})
			if at == plain {
				s.steps(t, at, p, []step{{"exec 3<>/dev/ptmx", false, ""}, {"ls /dev/pts", false, ""}})
			}
			if _, err := exec.LookPath("script"); err != nil || at == plain {
				continue
			}
			res := s.bash(t, at, p, "script -qec 'tty; test -t 0 && echo typed > $(tty); echo own > /dev/tty; echo x > "+theirs+"' $TMPDIR/typescript </dev/null")
			if !strings.Contains(res.out, "/dev/pts/0") || !strings.Contains(res.out, "typed") || !strings.Contains(res.out, "own") {
				t.Errorf("%s, read-only %v: script: exit %d\n%s", at.name, p.ReadOnly, res.code, res.out)
			}
		}
	}
	poll := []unix.PollFd{{Fd: int32(maker), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 0); n > 0 && poll[0].Revents&unix.POLLIN != 0 {
		t.Error("something was written to the terminal:", err)
	}
}

// TestNoTerminals checks that no terminals are granted if the command cannot have
// its own.
func TestNoTerminals(t *testing.T) {
	t.Parallel()
	s := newScratch(t)
	for _, at := range tiers(t) {
		for _, readOnly := range []bool{false, true} {
			p := s.policy
			p.ReadOnly = readOnly
			res := job{Policy: p, Switches: switches{NoMounts: true}, Args: []string{"bash", "-c", "exec 3<>/dev/ptmx"}}.run(t, at, s.root)
			if res.code == 0 {
				t.Errorf("%s, read-only %v: a terminal was made beside those of others", at.name, readOnly)
			}
		}
	}
	if slices.ContainsFunc(devices, func(d string) bool { return strings.HasPrefix(d, "/dev/pt") || d == "/dev/tty" }) {
		t.Error("terminals are granted always")
	}
}
