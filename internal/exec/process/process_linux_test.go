package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// inTiers runs a test in all tiers of this system in parallel.
func inTiers(t *testing.T, test func(t *testing.T, r *Runner)) {
	eachTier(t, func(t *testing.T, r *Runner) {
		t.Parallel()
		test(t, r)
	})
}

// eachTier runs a test in all tiers of this system, one after the other.
func eachTier(t *testing.T, test func(t *testing.T, r *Runner)) {
	for _, tier := range systemTiers() {
		t.Run(tier.String(), func(t *testing.T) {
			r := newRunner(t, Config{Tiers: []Tier{tier}, Spares: 1})
			if got, err := r.Tier(t.Context()); err != nil {
				t.Skip(err)
			} else if got != tier {
				t.Fatalf("the tier is %s", got)
			}
			test(t, r)
		})
	}
}

func TestExit(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		for text, want := range map[string]Exit{
			"exit 0":                 {},
			"exit 7":                 {Code: 7},
			"exit 126":               {Code: 126},
			"no-such-command-at-all": {Code: 127},
			"kill -9 $$":             {Code: -1, Signal: syscall.SIGKILL},
			"kill -TERM $$":          {Code: -1, Signal: syscall.SIGTERM},
			"ulimit -c unlimited 2>/dev/null; kill -SEGV $$": {Code: -1, Signal: syscall.SIGSEGV},
			"(exit 3) & wait $!":                             {Code: 3},
			"true | tee >(cat)":                              {}, // cat ends a moment later than the shell
		} {
			got, _ := run(t, r, text)
			got.Usage = Usage{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	})
}

func TestUsage(t *testing.T) {
	r := newRunner(t, Config{})
	e, _ := run(t, r, "for ((i = 0; i < 100000; i++)); do :; done")
	if e.Usage.User <= 0 || e.Usage.MaxRSS < 1<<20 || e.Usage.MaxRSS > 1<<30 {
		t.Errorf("got %+v", e.Usage)
	}
}

// TestSurroundings checks the environment of a command: descriptors, signals and so
// on.
func TestSurroundings(t *testing.T) {
	// The server has an inherited descriptor, an ignored signal and a blocked one.
	inherited, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	signal.Ignore(unix.SIGUSR1)
	defer signal.Reset(unix.SIGUSR1)
	for _, tier := range systemTiers() {
		r := newRunner(t, Config{Tiers: []Tier{tier}})
		f, _, err := r.fork(t.Context(), blockUSR2, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.release(f)
		if _, err := r.Tier(t.Context()); err != nil {
			t.Log(err)
			continue
		}
		dir := t.TempDir()
		s := script(t, `
			echo "in $PWD $X"
			echo "env $(env | sort | cut -d= -f1 | tr '\n' ' ')"
			echo "fds $(ls /proc/self/fd | tr '\n' ' ')" # one is that of ls
			echo "stdin $(readlink /proc/$$/fd/0)"
			[ /proc/$$/fd/1 -ef /proc/$$/fd/2 ] && echo same >&2
			read -r pid comm state ppid pgrp session tty rest < /proc/$$/stat
			echo "leader $((pid == $$ && pgrp == pid && session == pid)) tty $tty"
			echo "core $(ulimit -c) umask $(umask)"
			# The supervisor sets its own back after the start.
			for i in {1..1000}; do [ $(cat /proc/$PPID/oom_score_adj) = `+fmt.Sprint(ownOOM(t))+` ] && break; done
			echo "oom $(cat /proc/self/oom_score_adj), that of the supervisor $(cat /proc/$PPID/oom_score_adj)"
			exec grep -E '^Sig(Blk|Ign)|^CapAmb|^NoNew' /proc/self/status`)
		s.Dir = dir
		s.Env = append(s.Env, "X=a=b c")
		p, o := start(t, r, s)
		wait(t, p)
		want := fmt.Sprintf(`in %s a=b c
env PATH PWD SHLVL X _ 
fds 0 1 2 3 
stdin /dev/null
same
leader 1 tty 0
core 0 umask %04o
oom %d, that of the supervisor %d
SigBlk:	0000000000000000
SigIgn:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	0
`, dir, umask(), oomRaise+ownOOM(t), ownOOM(t))
		if diff := cmp.Diff(want, o.all(t)); diff != "" {
			t.Errorf("%s: %s", tier, diff)
		}
	}
}

func blockUSR2() error {
	var set unix.Sigset_t
	set.Val[0] = 1 << (unix.SIGUSR2 - 1)
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}

func umask() int {
	old := unix.Umask(0)
	unix.Umask(old)
	return old
}

func ownOOM(t *testing.T) (n int) {
	data, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Sscan(string(data), &n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOrder checks that the order of writes to standard output and standard error
// is preserved.
func TestOrder(t *testing.T) {
	r := newRunner(t, Config{})
	_, got := run(t, r, "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done")
	if want := "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestCannotStart(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			change func(*Spec)
			want   string
		}{
			{func(s *Spec) { s.Dir = "/no/such" }, "starting a command in /no/such: no such file or directory"},
			{func(s *Spec) { s.Dir = file }, "starting a command in " + file + ": it is not a folder"},
			{func(s *Spec) { s.Dir = "here" }, `starting a command: its folder "here" is not an absolute path`},
			{func(s *Spec) { s.Args[0] = "/no/shell" }, "starting /no/shell: no such file or directory"},
			{func(s *Spec) { s.Args[0] = file }, "starting " + file + ": permission denied"},
			{func(s *Spec) { s.Args[2] = strings.Repeat("x", 1<<20) }, "starting " + bash(t) + ": argument list too long"},
			{func(s *Spec) { s.Args[2] = "a\x00b" }, "starting a command: an argument, a variable or its folder has a NUL character"},
			{func(s *Spec) { s.Args = nil }, "starting a command: there is no program"},
			{func(s *Spec) { s.Confine = json.RawMessage(`"fail"`) }, "containing the command: the reason"},
			{func(s *Spec) { s.Confine = json.RawMessage(`"forget"`) }, "containing the command: it was not started"},
		} {
			o := newOutput(t)
			s := script(t, "echo ran")
			s.Output = o.w
			c.change(&s)
			_, err := r.Start(t.Context(), s)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if out := o.all(t); out != "" {
				t.Errorf("%s: something ran: %s", c.want, out)
			}
		}
	})
}

func TestConfine(t *testing.T) {
	r := newRunner(t, Config{})
	s := script(t, "ulimit -n")
	s.Confine = json.RawMessage(`"limit"`)
	p, o := start(t, r, s)
	if e := wait(t, p); e.Code != 0 || o.all(t) != "77\n" {
		t.Errorf("got %+v, %s", e, o.text)
	}
}

// A command is started by the launcher of its confinement.
func TestLauncher(t *testing.T) {
	r := newRunner(t, Config{})
	s := script(t, "echo ${HOME-none} $0")
	s.Env = append(s.Env, "HOME=/home/u")
	s.Confine = json.RawMessage(`"launch"`)
	p, o := start(t, r, s)
	if e := wait(t, p); e.Code != 0 || !strings.HasPrefix(o.all(t), "none ") {
		t.Errorf("got %+v, %s", e, o.text)
	}
}

// TestLeftover checks that a child that holds the pipe open after the shell's exit
// delays nothing, and is named.
func TestLeftover(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		e, out := run(t, r, "sleep 1000 & a=$!; setsid sleep 1001 & b=$!; (trap '' TERM; exec -a $'evil\\n' sleep 1002) & for p in $a $b $!; do "+untilSleeps+"; done; echo started")
		slices.Sort(e.Leftover)
		if want := []string{"sleep 1000", "sleep 1001"}; e.Left != 3 || len(e.Leftover) != 3 || !slices.Equal(e.Leftover[:2], want) {
			t.Errorf("got %d, %q", e.Left, e.Leftover)
		}
		if len(e.Leftover) == 3 && e.Leftover[2] != `sleep: evil\n 1002` {
			t.Errorf("got %q", e.Leftover[2])
		}
		if e.Ended || e.Code != 0 || out != "started" {
			t.Errorf("got %+v, %q", e, out)
		}
	})
}

// untilSleeps waits until the process $p executes sleep.
const untilSleeps = `until read -r comm </proc/$p/comm && [ "$comm" = sleep ]; do :; done`

func TestManyLeftovers(t *testing.T) {
	r := newRunner(t, Config{})
	e, _ := run(t, r, "for i in {1..15}; do exec -a "+strings.Repeat("é", 200)+" sleep 100$i & p=$!; "+untilSleeps+"; done")
	if e.Left != 15 || len(e.Leftover) != maxNamed {
		t.Errorf("got %d, %d names", e.Left, len(e.Leftover))
	}
	if n := len([]rune(e.Leftover[0])); n != maxName {
		t.Errorf("a name has %d characters", n)
	}
}

func TestEnd(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		for text, want := range map[string]Exit{
			"echo; sleep 1000": {Code: -1, Signal: syscall.SIGTERM, Ended: true},
			"trap '' TERM; echo; while :; do sleep 1; done": {Code: -1, Signal: syscall.SIGKILL, Ended: true},
			"trap 'exit 5' TERM; echo; sleep 1000 & wait":   {Code: 5, Ended: true},
			// It is ready when it is stopped.
			`trap 'exit 6' TERM
			(until read -r pid comm state rest </proc/$$/stat && [ $state = T ]; do :; done; echo; exec sleep 1000) &
			kill -STOP $$`: {Code: 6, Ended: true},
		} {
			p, ready := startReady(t, r, text)
			ready()
			grace := 10 * time.Second
			if want.Signal == syscall.SIGKILL {
				grace = 50 * time.Millisecond
			}
			if err := p.End(grace); err != nil {
				t.Error(err)
			}
			if !p.isDone() {
				t.Error("End returned before the end")
			}
			got := p.Wait()
			got.Usage = Usage{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
			if err := p.End(grace); err != nil {
				t.Error(err)
			}
		}
	})
}

// startReady starts a script whose first line of output means that it is ready.
func startReady(t testing.TB, r *Runner, text string, env ...string) (p *Process, ready func()) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	s := script(t, text)
	s.Output, s.Env = out, append(s.Env, env...)
	if p, err = r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return p, func() {
		t.Helper()
		_ = in.SetReadDeadline(time.Now().Add(failTime))
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Fatalf("waiting for the script: %v", err)
		}
	}
}

// TestEndSooner checks that a second call of End with a shorter grace shortens that
// of the first.
func TestEndSooner(t *testing.T) {
	r := newRunner(t, Config{})
	p, ready := startReady(t, r, "trap '' TERM; echo; while :; do sleep 1; done")
	ready()
	first := make(chan error, 1)
	go func() { first <- p.End(time.Hour) }()
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if e := p.Wait(); e.Signal != syscall.SIGKILL {
		t.Errorf("got %+v", e)
	}
}

// TestCancelStart checks that the context of Start can end the start, and has no
// effect later.
func TestCancelStart(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		o := newOutput(t)
		s := script(t, "echo ran")
		s.Confine, s.Output = json.RawMessage(`"hang"`), o.w
		time.AfterFunc(20*time.Millisecond, func() { cancel(mine) })
		if _, err := r.Start(ctx, s); err != mine {
			t.Errorf("got %v", err)
		}
		if out := o.all(t); out != "" {
			t.Errorf("it ran: %s", out)
		}
		o = newOutput(t)
		s.Confine, s.Output = nil, o.w
		if _, err := r.Start(ctx, s); err != mine {
			t.Errorf("got %v", err)
		}
		// Cancel at any moment of a start.
		for i := range manyCalls {
			ctx, cancel := context.WithCancelCause(t.Context())
			o := newOutput(t)
			s := script(t, "sleep 1000")
			s.Output = o.w
			time.AfterFunc(time.Duration(i%40)*500*time.Microsecond, func() { cancel(mine) })
			p, err := r.Start(ctx, s)
			switch {
			case err == mine:
			case err != nil:
				t.Error(err)
			default:
				<-ctx.Done()
				if p.isDone() {
					t.Error("the context of Start ended the command")
				}
				if err := p.End(0); err != nil {
					t.Error(err)
				}
			}
			o.all(t)
		}
	})
}

// TestSpareKilled checks that no caller notices that a supervisor in reserve was
// killed.
func TestSpareKilled(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		spare := func() *supervisor {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.ready) == 0 {
				return nil
			}
			return r.ready[0]
		}
		eventually(t, "there is a spare", func() bool { return spare() != nil })
		killed := spare()
		killed.kill()
		<-killed.exited
		if _, out := run(t, r, "echo hello"); out != "hello" {
			t.Errorf("got %q", out)
		}
		// Kill it while the command is passed to it.
		for range manyCalls / 5 {
			eventually(t, "there is a spare", func() bool { return spare() != nil })
			spare().kill()
			if _, out := run(t, r, "echo hello"); out != "hello" {
				t.Errorf("got %q", out)
			}
		}
	})
}

// TestSupervisorStopped checks that a supervisor that is stopped, and stopped
// again, delays neither the end of its command nor the next command.
func TestSupervisorStopped(t *testing.T) {
	t.Parallel()
	inTiers(t, func(t *testing.T, r *Runner) {
		mark := newMark()
		p, ready := startReady(t, r, "sleep 1000 & setsid sleep 1001 & echo; wait", string(mark))
		ready()
		var spare *supervisor
		eventually(t, "there is a spare", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.ready) > 0 {
				spare = r.ready[0]
			}
			return spare != nil
		})
		for _, s := range []*supervisor{p.sup, spare} {
			s.child.signal(unix.SIGSTOP)
			eventually(t, "it is stopped", s.isStopped)
		}
		began := time.Now()
		next := make(chan struct{})
		go func() {
			defer close(next)
			if _, out := run(t, r, "echo hello"); out != "hello" {
				t.Errorf("got %q", out)
			}
		}()
		if err := p.End(0); err != nil {
			t.Error(err)
		}
		if e := p.Wait(); !e.Ended || e.Lost != nil || e.Stuck || e.Code != -1 || e.Signal != unix.SIGKILL {
			t.Errorf("got %+v", e)
		}
		<-next
		if took := time.Since(began); took >= slack {
			t.Errorf("it took %v", took)
		}
		<-spare.exited
		eventually(t, "all has ended", func() bool { return len(mark.find(t)) == 0 })
	})
}

// TestStoppedWhenTaken checks that a command is not started a second time if its
// supervisor is stopped after it took the command.
func TestStoppedWhenTaken(t *testing.T) {
	t.Parallel()
	// The first process of a namespace cannot be stopped from inside.
	r := newRunner(t, Config{Tiers: []Tier{Subreaper}})
	s, err := r.fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := newOutput(t)
	spec := script(t, "echo ran")
	spec.Confine, spec.Output = json.RawMessage(`"stop"`), o.w
	_, again, err := r.run(t.Context(), s, spec)
	s.abandon()
	_ = o.w.Close()
	if err == nil || again || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("again %v, %v", again, err)
	}
	if out := o.all(t); out != "" {
		t.Errorf("it ran: %s", out)
	}
}

// TestSupervisorKilled checks that a command is reported as lost, and ended, if its
// supervisor is killed.
func TestSupervisorKilled(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		mark := newMark()
		text := "sleep 1000 & echo; wait"
		if r.known() > Subreaper { // these reach processes outside of the group
			text = "setsid " + text
		}
		p, ready := startReady(t, r, text, string(mark))
		ready()
		eventually(t, "the mark finds both", func() bool { return len(mark.find(t)) == 2 })
		p.sup.kill()
		e := wait(t, p)
		if e.Lost == nil || !strings.Contains(e.Lost.Error(), "signal: killed") || e.Code != -1 {
			t.Errorf("got %+v", e)
		}
		eventually(t, "all has ended", func() bool { return len(mark.find(t)) == 0 })
		if err := p.End(time.Hour); err != nil {
			t.Error(err)
		}
	})
}

// TestSupervisorSignalled checks that no signal of the command ends its supervisor
// in the tier that promises it.
func TestSupervisorSignalled(t *testing.T) {
	r := newRunner(t, Config{Tiers: []Tier{PIDNamespace}})
	if _, err := r.Tier(t.Context()); err != nil {
		t.Skip(err)
	}
	e, out := run(t, r, `for n in {1..20}; do for i in {1..64}; do kill -$i 1; done; done 2>/dev/null; kill -9 -1; echo "here $$ $PPID"; exit 4`)
	if e.Code != 4 || e.Lost != nil || !strings.HasSuffix(out, " 1") {
		t.Errorf("got %+v, %s", e, out)
	}
	if _, out := run(t, r, "cd /proc; echo [0-9]* $$"); !strings.HasPrefix(out, "1 ") || len(strings.Fields(out)) != 3 {
		t.Errorf("the command sees processes of others: %s", out)
	}
}

// TestSupervisorClosed checks that the command cannot access its supervisor's
// descriptors.
func TestSupervisorClosed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root looks at everything")
	}
	inTiers(t, func(t *testing.T, r *Runner) {
		if _, out := run(t, r, "ls /proc/$PPID/fd || echo denied"); !strings.HasSuffix(out, "denied") {
			t.Errorf("got %s", out)
		}
	})
}

// TestSupervisorCatches checks that in tiers without a namespace, no signal that
// the supervisor can catch ends it.
func TestSupervisorCatches(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		e, _ := run(t, r, `for i in {1..64}; do case $i in 9|19) ;; *) kill -$i $PPID; esac; done 2>/dev/null; exit 4`)
		if e.Code != 4 || e.Lost != nil {
			t.Errorf("got %+v", e)
		}
	})
}

// TestUnprivileged checks that another user than root has the same guarantees,
// because of a user namespace.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("this is no root")
	}
	const nobody = 65534
	which := "Surroundings|Supervisor.*|Trees|Network.*|Spawner.*|NotJoined"
	if fullCounts {
		which += "|Exit|CannotStart|Confine|Leftover|End|SpareKilled|ForkBomb"
	}
	cmd := exec.Command(ownImage, "-test.v", "-test.run", "^Test("+which+")$")
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestTrees/PID_namespace") {
		t.Skipf("without a PID namespace:\n%s", out)
	}
}

func TestClosed(t *testing.T) {
	r := NewRunner(Config{Spares: 2})
	p, ready := startReady(t, r, "trap '' TERM; echo; while :; do sleep 1; done")
	ready()
	if err := r.Close(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); !e.Ended {
		t.Errorf("got %+v", e)
	}
	o := newOutput(t)
	s := script(t, "echo ran")
	s.Output = o.w
	if _, err := r.Start(t.Context(), s); err != ErrClosed {
		t.Errorf("got %v", err)
	}
	if out := o.all(t); out != "" {
		t.Errorf("it ran: %s", out)
	}
	if _, err := r.Tier(t.Context()); err != nil { // determines the tier
		t.Error(err)
	}
	if err := r.Close(0); err != nil {
		t.Error(err)
	}
	if own, err := ownCgroup(); err == nil {
		if left, _ := filepath.Glob(filepath.Join(own, cgroupPrefix(os.Getpid())+"*")); len(left) > 0 {
			t.Errorf("there are cgroups left: %v", left)
		}
	}
	var status unix.WaitStatus
	if pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("there is a child left: %d, %v", pid, err)
	}
}

// TestStreams checks separate input and errors of a command, each alone and both
// together, and that Start closes them.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, tier := range []Tier{PIDNamespace, Cgroup, Subreaper} {
		for _, with := range []struct{ input, errors bool }{{}, {input: true}, {errors: true}, {true, true}} {
			t.Run(fmt.Sprintf("%v %v", tier, with), func(t *testing.T) {
				t.Parallel()
				r := newRunner(t, Config{Tiers: []Tier{tier}})
				if _, err := r.Tier(t.Context()); err != nil {
					t.Skip(err)
				}
				spec := script(t, "read line; echo out $line; echo err >&2")
				out, errs := newOutput(t), newOutput(t)
				spec.Output = out.w
				wantOut, wantErr := "out\nerr\n", ""
				in, write, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer write.Close()
				if with.input {
					spec.Input = in
					wantOut = "out hello\nerr\n"
				} else {
					_ = in.Close()
				}
				if with.errors {
					spec.Errors = errs.w
					wantOut, wantErr = strings.TrimSuffix(wantOut, "err\n"), "err\n"
				} else {
					_ = errs.w.Close()
				}
				p, err := r.Start(t.Context(), spec)
				if err != nil {
					t.Fatal(err)
				}
				if with.input {
					if _, err := write.WriteString("hello\n"); err != nil {
						t.Fatal(err)
					}
				}
				if e := wait(t, p); e.Code != 0 || e.Lost != nil {
					t.Errorf("exit: %+v", e)
				}
				if got := out.all(t); got != wantOut {
					t.Errorf("output %q, want %q", got, wantOut)
				}
				if got := errs.all(t); got != wantErr {
					t.Errorf("errors %q, want %q", got, wantErr)
				}
				if _, err := in.Stat(); err == nil {
					t.Error("Start left the input open")
				}
			})
		}
	}
}

// TestInputEnds checks that a command that reads its input ends with the input: no
// other process holds the other end.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	in, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	spec := script(t, "cat")
	out := newOutput(t)
	spec.Input, spec.Output = in, out.w
	p, err := r.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = write.WriteString("text")
	_ = write.Close()
	if e := wait(t, p); e.Code != 0 || e.Ended {
		t.Errorf("exit: %+v", e)
	}
	if got := out.all(t); got != "text" {
		t.Errorf("output %q", got)
	}
}

// TestStreamsClosed checks that Start closes its files even when it fails.
func TestStreamsClosed(t *testing.T) {
	r := newRunner(t, Config{})
	var files []*os.File
	for range 3 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	spec := script(t, "true")
	spec.Dir = "not/absolute"
	spec.Output, spec.Input, spec.Errors = files[0], files[1], files[2]
	if _, err := r.Start(t.Context(), spec); err == nil {
		t.Error("it was started")
	}
	for i, f := range files {
		if f.Close() == nil {
			t.Errorf("file %d was left open", i)
		}
	}
}

// TestSlowReader checks that a command that writes more than a pipe holds waits for
// the reader.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	spec := script(t, "printf 'x%.0s' {1..200000} && printf end")
	spec.Output = out
	p, err := r.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command fills the pipe", func() bool {
		n, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
		return err != nil || n >= 64<<10 || p.isDone()
	})
	data, err := io.ReadAll(in)
	if e := wait(t, p); e.Code != 0 || err != nil || len(data) != 200003 || !strings.HasSuffix(string(data), "end") {
		t.Errorf("exit %+v, %d bytes, %v", e, len(data), err)
	}
}
