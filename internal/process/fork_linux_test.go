package process

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A supervisor that hangs before it runs our program holds nothing up: neither
// who waits for it, nor the next one, nor the end.
func TestHungStart(t *testing.T) {
	r := newRunner(t, Config{})
	hung, release := make(chan struct{}), make(chan struct{})
	r.wait = 50 * time.Millisecond
	r.start = func(*exec.Cmd) error {
		close(hung)
		<-release
		return errors.New("killed")
	}
	defer close(release)
	if _, err := r.Tier(t.Context()); err == nil || !strings.Contains(err.Error(), "not ready within 50ms") {
		t.Fatal("the error is", err)
	}
	<-hung
	r.wait, r.start = startWait, (*exec.Cmd).Start
	if e, out := run(t, r, "echo next"); e.Code != 0 || out != "next" {
		t.Errorf("the next command: %+v, %q", e, out)
	}
}

// The end of the Runner ends the wait for a supervisor.
func TestCloseDuringHungStart(t *testing.T) {
	r := NewRunner(Config{})
	hung, release := make(chan struct{}), make(chan struct{})
	r.wait = failTime
	r.start = func(*exec.Cmd) error {
		close(hung)
		<-release
		return errors.New("killed")
	}
	defer close(release)
	got := make(chan error, 1)
	go func() {
		_, err := r.Tier(t.Context())
		got <- err
	}()
	<-hung
	closed := make(chan error, 1)
	go func() { closed <- r.Close(0) }()
	for _, c := range []chan error{got, closed} {
		select {
		case err := <-c:
			if c == got && !errors.Is(err, ErrClosed) || c == closed && err != nil {
				t.Error("the error is", err)
			}
		case <-time.After(failTime / 2):
			t.Fatal("it waits")
		}
	}
}

// What has not become a supervisor is killed, what has is not.
func TestKillHalfStarted(t *testing.T) {
	r := newRunner(t, Config{})
	p, o := start(t, r, script(t, "exec sleep 60"))
	half := exec.Command(bash(t), "-c", "read x")
	in, err := half.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := r.fork(t.Context(), half.Start, nil); err != nil {
		t.Fatal(err)
	}
	killHalfStarted(int(r.forkerNow().thread.Load()))
	var exit *exec.ExitError
	if err := half.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Error("it ended with", err)
	}
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	if e := wait(t, p); !e.Ended || e.Lost != nil {
		t.Errorf("the command of a supervisor ended otherwise: %+v", e)
	}
	o.all(t)
}
