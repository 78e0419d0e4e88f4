package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

func newRunner(t *testing.T) *Runner {
	t.Helper()
	r := NewRunner(Config{})
	t.Cleanup(func() {
		if err := r.Close(0); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func start(t *testing.T, r *Runner, args ...string) (*Process, *output) {
	t.Helper()
	o := newOutput(t)
	p, err := r.Start(t.Context(), Spec{
		Args: append([]string{os.Args[0], standIn}, args...), Dir: tempDir(t), Output: o.w,
		Env: append(os.Environ(), "STAND_IN=ä ☃ 𝄞"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

func TestJobTier(t *testing.T) {
	r := newRunner(t)
	if tier, err := r.Tier(t.Context()); tier != Job || err != nil {
		t.Errorf("%v, %v", tier, err)
	}
}

func TestJobExit(t *testing.T) {
	r := newRunner(t)
	for _, code := range []string{"0", "7", "259", "-1073741819"} {
		p, _ := start(t, r, "exit", code)
		want := map[string]int{"0": 0, "7": 7, "259": 259, "-1073741819": 0xC0000005}[code]
		if e := p.Wait(); e.Code != want || e.Signal != 0 || e.Ended || e.Left != 0 || e.Stuck || e.Lost != nil {
			t.Errorf("exit code %s: %+v", code, e)
		}
	}
	p, o := start(t, r, "show", `a b`, `"quoted\"`, ``, `*`)
	e := p.Wait()
	lines := o.all(t)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `["a b" "\"quoted\\\"" "" "*"] "" <nil> ä ☃ 𝄞 `) || lines[1] != "to standard error" || e.Code != 0 {
		t.Errorf("%q, %+v", lines, e)
	}
}

// TestJobEnd checks that End ends a whole process tree, including detached
// processes.
func TestJobEnd(t *testing.T) {
	r := newRunner(t)
	p, o := start(t, r, "tree", "3")
	tree := o.processes(t, 4)
	if marked, err := StartedByServer(pid(t, tree[3])); !marked || err != nil {
		t.Errorf("a command is not marked as one: %v", err)
	}
	if marked, err := StartedByServer(uint32(os.Getpid())); marked || err != nil {
		t.Errorf("the server is marked as a command: %v", err)
	}
	if err := p.End(0); err != nil {
		t.Fatal(err)
	}
	for i, h := range tree {
		if runs(h, 0) {
			t.Errorf("process %d of the tree still runs", i)
		}
	}
	if e := p.Wait(); !e.Ended || e.Code != -1 || e.Signal != windows.SIGKILL || e.Left != 0 {
		t.Errorf("%+v", e)
	}
	if err := p.End(0); err != nil {
		t.Errorf("ending it again: %v", err)
	}
}

// TestOpenMark checks that openMark opens the job object of another session and
// does not make one.
func TestOpenMark(t *testing.T) {
	if _, err := markJob(); err != nil {
		t.Fatal(err)
	}
	sid, err := OwnSID()
	if err != nil {
		t.Fatal(err)
	}
	session, err := sessionOf(windows.GetCurrentProcessId())
	if err != nil {
		t.Fatal(err)
	}
	h, ok, err := openMark(markName(session, sid))
	if !ok || err != nil {
		t.Fatalf("it is not found: %v", err)
	}
	_ = windows.CloseHandle(h)
	for range 2 {
		if _, ok, err := openMark(markName(session+1000, sid)); ok || err != nil {
			t.Errorf("one without servers: %v, %v", ok, err)
		}
	}
}

// TestJobLeftover checks that processes that a command leaves running are named and
// ended.
func TestJobLeftover(t *testing.T) {
	p, o := start(t, newRunner(t), "leave")
	left := o.processes(t, 1)
	e := p.Wait()
	if runs(left[0], 0) {
		t.Error("it still runs")
	}
	if e.Left != 1 || len(e.Leftover) != 1 || e.Leftover[0] != filepath.Base(os.Args[0]) || e.Code != 0 || e.Ended {
		t.Errorf("%+v", e)
	}
}

// TestJobBreakaway checks that a command cannot start a process outside of its job.
func TestJobBreakaway(t *testing.T) {
	p, o := start(t, newRunner(t), "break")
	p.Wait()
	for _, line := range o.all(t) {
		if line == "refused" {
			return
		}
	}
	if a := p.exit; a.Left != 1 { // the system allowed the flag, and the process is still in the job
		t.Errorf("%+v", a)
	}
}

// TestJobServerKilled checks that the system ends commands with their server.
func TestJobServerKilled(t *testing.T) {
	o := newOutput(t)
	server := exec.Command(os.Args[0], standIn, "server", "2")
	server.Stdout = o.w
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	_ = o.w.Close()
	tree := o.processes(t, 3)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	for i, h := range tree {
		if runs(h, failTime) {
			t.Errorf("process %d of the tree outlives its server", i)
		}
	}
}

func TestJobClose(t *testing.T) {
	r := NewRunner(Config{})
	p, o := start(t, r, "tree", "1")
	tree := o.processes(t, 2)
	if err := r.Close(time.Second); err != nil {
		t.Fatal(err)
	}
	if runs(tree[1], 0) || !p.Wait().Ended {
		t.Error("it still runs")
	}
	out := newOutput(t)
	if _, err := r.Start(t.Context(), Spec{Args: []string{os.Args[0]}, Dir: tempDir(t), Output: out.w}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestJobErrors(t *testing.T) {
	r := newRunner(t)
	dir := tempDir(t)
	file := filepath.Join(dir, "file.txt")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spec Spec
		want string
	}{
		"no program":      {Spec{Dir: dir}, "starting a command: there is no program"},
		"absent program":  {Spec{Args: []string{dir + `\absent.exe`}, Dir: dir}, `starting ` + dir + `\absent.exe: `},
		"absent folder":   {Spec{Args: []string{os.Args[0]}, Dir: dir + `\absent`}, `starting a command in ` + dir + `\absent: `},
		"a file":          {Spec{Args: []string{os.Args[0]}, Dir: file}, `starting a command in ` + file + `: it is not a folder`},
		"relative folder": {Spec{Args: []string{os.Args[0]}, Dir: "x"}, `starting a command: its folder "x" is not an absolute path`},
		"containment":     {Spec{Args: []string{os.Args[0]}, Dir: dir, Confine: []byte("{}")}, "containing the command: unsupported operation"},
		"NUL":             {Spec{Args: []string{os.Args[0], "a\x00b"}, Dir: dir}, "starting a command: an argument, a variable or its folder has a NUL character"},
	} {
		tc.spec.Output = newOutput(t).w
		if _, err := r.Start(t.Context(), tc.spec); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}
