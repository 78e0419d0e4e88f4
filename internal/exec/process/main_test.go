//go:build linux

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain makes the test binary its own supervisor, and a server that tests can
// kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Arg:
			os.Exit(Serve(testConfine))
		case serverArg:
			os.Exit(beServer(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// testConfine imitates confinement: it fails, limits the process, or hangs.
func testConfine(raw json.RawMessage, join func() error, start func(launcher ...string) error) error {
	var what string
	if err := json.Unmarshal(raw, &what); err != nil {
		return err
	}
	switch what {
	case "fail":
		return errors.New("the reason")
	case "limit":
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 77, Max: 77}); err != nil {
			return err
		}
	case "hang":
		fmt.Fprintln(os.Stderr, "hangs")
		select {}
	case "stop":
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			return err
		}
		select {}
	case "launch":
		return start("/usr/bin/env", "-u", "HOME")
	case "terminal":
		if err := unix.Mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
			return err
		}
	case "forget":
		return nil
	case "astray":
		return start()
	}
	if err := join(); err != nil {
		return err
	}
	return start()
}

// bash returns the path of the tests' shell.
func bash(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	return path
}

func newRunner(t testing.TB, c Config) *Runner {
	t.Helper()
	r := NewRunner(c)
	r.wait = patience
	t.Cleanup(func() {
		if err := r.Close(0); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// output collects the data from a pipe.
type output struct {
	w    *os.File
	done chan struct{}
	text string
}

func newOutput(t testing.TB) *output {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{w: w, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		defer r.Close()
		data, _ := io.ReadAll(r)
		o.text = string(data)
	}()
	return o
}

// all waits for the end of the pipe and returns its data.
func (o *output) all(t testing.TB) string {
	t.Helper()
	select {
	case <-o.done:
	case <-time.After(failTime):
		t.Fatal("somebody still has the pipe")
	}
	return o.text
}

// failTime is a timeout that only failures reach.
const failTime = time.Minute

func script(t testing.TB, text string) Spec {
	return Spec{
		Args: []string{bash(t), "-c", text}, Dir: os.TempDir(), Grace: 100 * time.Millisecond,
		Env: []string{"PATH=" + os.Getenv("PATH")},
	}
}

func start(t testing.TB, r *Runner, s Spec) (*Process, *output) {
	t.Helper()
	o := newOutput(t)
	s.Output = o.w
	p, err := r.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

func wait(t testing.TB, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(failTime):
		t.Fatal("the command does not end")
	}
	return p.Wait()
}

// run runs a script until it ends.
func run(t testing.TB, r *Runner, text string) (Exit, string) {
	t.Helper()
	p, o := start(t, r, script(t, text))
	e := wait(t, p)
	return e, strings.TrimSuffix(o.all(t), "\n")
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(failTime); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come to pass that %s", what)
		}
	}
}

// patience replaces startWait in tests: they start many supervisors at once, and
// may run on a busy machine or under the race detector.
const patience = time.Minute
