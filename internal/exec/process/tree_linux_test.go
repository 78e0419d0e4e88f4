package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"mcp-toolset/internal/testscale"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// mark is a variable in the environment of processes, by which tests find them.
type mark string

func newMark() mark { return mark("MARK=" + rand.Text()) }

// find returns the processes of this machine that have the mark.
func (m mark) find(t testing.TB) (found []string) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("there are no processes")
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(env, []byte(m)) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// idioms lists ways to escape, or to try.
var idioms = []string{
	"setsid sleep 1000",
	"(setsid -f sleep 1000)",
	"perl -e 'use POSIX; POSIX::setsid(); exec q(sleep), 1000' &",
	`perl -e 'use POSIX; fork && exit; POSIX::setsid(); fork && exit; exec q(sleep), 1000'`,
	`python3 -c 'import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execvp("sleep", ["sleep", "1000"])
    os._exit(0)'`,
	"( (sleep 1000 &) &)",
	"nohup sleep 1000 >/dev/null 2>&1 &",
	"sleep 1000 & disown",
	"set -m; sleep 1000 & set +m",
	"bash -c \"trap '' TERM HUP INT; while :; do sleep 1; done\" &",
	"bash -c \"trap 'setsid sleep 1000 & sleep 1000 & exit' TERM; while :; do sleep 0.01; done\" &",
	"(exec 2>&- >&-; cd /; setsid bash -c 'sleep 1000 & wait' &)",
	"unshare -fp sleep 1000 2>/dev/null &",
	"while :; do (sleep 0.05 &); sleep 0.01; done &",
}

// treeScript returns a script that starts all idioms, reports it, and runs for
// ever.
func treeScript() string {
	var b strings.Builder
	for _, idiom := range idioms {
		if strings.HasPrefix(idiom, "setsid ") {
			idiom += " &"
		}
		b.WriteString(idiom + "\n")
	}
	b.WriteString("echo; sleep 1000")
	return b.String()
}

// TestTrees checks that nothing is left of many process trees that try to escape,
// in whatever way they end.
func TestTrees(t *testing.T) {
	eachTier(t, func(t *testing.T, r *Runner) {
		mark := newMark()
		var wg sync.WaitGroup
		for i := range manyTrees {
			wg.Go(func() {
				text := treeScript()
				if i%2 == 1 { // by the exit of the shell
					text = strings.TrimSuffix(text, "sleep 1000")
				}
				p, ready := startReady(t, r, text, string(mark))
				ready()
				if i%2 == 1 {
					if e := wait(t, p); e.Left < 10 || e.Stuck {
						t.Errorf("only %d are left over: %q", e.Left, e.Leftover)
					}
					return
				}
				if n := len(mark.find(t)); n < len(idioms) {
					t.Errorf("only %d processes", n)
				}
				if err := p.End(50 * time.Millisecond); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if left := mark.find(t); len(left) > 0 {
			t.Errorf("%d are left:\n%s", len(left), strings.Join(left, "\n"))
		}
	})
}

// TestForkBomb ends a fork bomb that grows when any of its processes is killed.
func TestForkBomb(t *testing.T) {
	testscale.NeedFull(t)
	eachTier(t, func(t *testing.T, r *Runner) {
		mark := newMark()
		p, ready := startReady(t, r, `
			b() { while :; do sleep 1000 & sleep 1000 & wait -n; done; }
			for i in {1..70}; do b & done; echo; wait`, string(mark))
		ready()
		eventually(t, "there are 200 processes", func() bool { return len(mark.find(t)) >= 200 })
		if err := p.End(10 * time.Millisecond); err != nil {
			t.Error(err)
		}
		if left := mark.find(t); len(left) > 0 {
			t.Errorf("%d are left", len(left))
		}
	})
}

// serverArg makes the test binary a server. It starts process trees with a mark in
// a tier (the next arguments), reports it on standard output, and then waits.
const serverArg = "be-server"

func beServer(args []string) int {
	count, _ := strconv.Atoi(args[0])
	tier, _ := strconv.Atoi(args[1])
	r := NewRunner(Config{Tiers: []Tier{Tier(tier)}, Spares: 2})
	r.wait = patience
	errs := make(chan error, count)
	for range count {
		go func() {
			in, out, err := os.Pipe()
			if err == nil {
				s := Spec{Args: []string{"/bin/bash", "-c", treeScript()}, Env: []string{"PATH=" + os.Getenv("PATH"), args[2]}, Dir: "/", Output: out}
				_, err = r.Start(context.Background(), s)
			}
			if err == nil {
				_, err = in.Read(make([]byte, 1))
			}
			errs <- err
		}()
	}
	for range count {
		if err := <-errs; err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println("ready")
	select {}
}

// TestServerKilled checks that nothing is left of a killed server and its commands.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	for _, tier := range systemTiers() {
		t.Run(tier.String(), func(t *testing.T) {
			if _, err := newRunner(t, Config{Tiers: []Tier{tier}}).Tier(t.Context()); err != nil {
				t.Skip(err)
			}
			mark := newMark()
			server := exec.Command(ownImage, serverArg, strconv.Itoa(serverTrees), strconv.Itoa(int(tier)), string(mark))
			server.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			out, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := io.ReadAll(io.LimitReader(out, 6)); string(line) != "ready\n" {
				t.Fatalf("%s, %v", line, err)
			}
			if n := len(mark.find(t)); n < 10*serverTrees {
				t.Errorf("only %d processes", n)
			}
			supervisors := childrenOf(server.Process.Pid)
			if tier == PIDNamespace {
				supervisors = append(supervisors, childrenOf(supervisors[0].pid)...) // of the spawner
			}
			if len(supervisors) < serverTrees {
				t.Errorf("only %d supervisors", len(supervisors))
			}
			if err := server.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			_ = server.Wait()
			eventually(t, "all has ended", func() bool {
				for _, p := range supervisors {
					// A zombie does not count.
					if now, ok := look(p.pid); ok && now.start == p.start && !now.zombie {
						return false
					}
				}
				return len(mark.find(t)) == 0
			})
			took := time.Since(killed)
			if own, err := ownCgroup(); err == nil {
				eventually(t, "the cgroups are gone", func() bool {
					left, _ := filepath.Glob(filepath.Join(own, cgroupPrefix(server.Process.Pid)+"*"))
					return len(left) == 0
				})
			}
			t.Logf("all had ended after %v", took)
			if fullCounts && took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func childrenOf(pid int) (found []listed) {
	for _, p := range descendants(pid) {
		if p.parent == pid {
			found = append(found, p)
		}
	}
	return found
}
