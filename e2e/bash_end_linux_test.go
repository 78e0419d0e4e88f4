package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/testscale"
)

// TestStopMany checks that stopping a task ends everything it started.
func TestStopMany(t *testing.T) {
	t.Parallel()
	s, mark := startShell(t, shellOptions{}), newMark()
	var ids []string
	for range manyTasks {
		ids = append(ids, s.background(tree(mark)))
	}
	atLeast(t, mark, manyTasks*treeSize)
	var stops []sent
	for _, id := range ids {
		stops = append(stops, s.begin("TaskStop", map[string]any{"task_id": id}))
	}
	for _, stop := range stops {
		if a := s.wait(stop); a.failed || a.fault != "" {
			t.Errorf("stopping: %s %s", a.fault, a.text)
		}
	}
	noneLeft(t, mark, 0)
	list := s.call("TaskOutput", nil)
	if n := strings.Count(list.text, "stopped by TaskStop"); n != manyTasks {
		t.Errorf("%d tasks are stopped: %s", n, list.text)
	}
}

// TestServerEnds checks that all commands end with the server, however it ends.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	signal := func(which os.Signal) func(*shellServer) {
		return func(s *shellServer) { _ = s.cmd.Process.Signal(which) }
	}
	for _, c := range []struct {
		name       string
		end        func(*shellServer)
		bad, waits bool // whether the server ends without shutdown; whether it waits for calls
	}{
		{"SIGTERM", signal(syscall.SIGTERM), false, false},
		{"SIGINT", signal(syscall.SIGINT), false, false},
		{"end of input", func(s *shellServer) { _ = s.in.Close() }, false, true},
		{"SIGKILL", signal(syscall.SIGKILL), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, mark := startShell(t, shellOptions{bare: c.bad}), newMark()
			running := testscale.N(4, 10)
			for range running - 1 {
				s.background(tree(mark))
			}
			// When the input ends, the server waits for calls in the foreground.
			foreground := s.begin("Bash", map[string]any{"command": tree(mark), "run_in_background": c.waits})
			atLeast(t, mark, running*treeSize)
			began := time.Now()
			c.end(s)
			select {
			case <-s.ended:
			case <-time.After(deadline):
				t.Fatal("the server does not end")
			}
			took := time.Since(began)
			noneLeft(t, mark, deadline)
			t.Logf("the server ended after %v, all it had started after %v", took, time.Since(began))
			s.wait(foreground)
			if left, err := os.ReadDir(strings.TrimSuffix(s.home, "home") + "tmp"); !c.bad && (err != nil || len(left) > 0) {
				t.Errorf("temporary files are left: %v %v", left, err)
			}
		})
	}
}

// TestServerEndsUncontained does the same without a sandbox.
func TestServerEndsUncontained(t *testing.T) {
	s, mark := startShell(t, shellOptions{args: []string{"--sandbox", "off"}, bare: true}), newMark()
	for range 3 {
		s.background(tree(mark))
	}
	atLeast(t, mark, 3*treeSize)
	_ = s.cmd.Process.Kill()
	<-s.ended
	noneLeft(t, mark, deadline)
}

// TestForkBomb checks that TaskStop ends processes that fork faster than they can be
// listed, even while they fork.
func TestForkBomb(t *testing.T) {
	testscale.NeedFull(t)
	for _, c := range []struct {
		name, leaf string
		size       int
	}{
		{"grown", "setsid sleep 3000 & sleep 3000", 254},
		{"growing", "while :; do setsid sleep 0.3 & sleep 0.2; done", 126},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, mark := startShell(t, shellOptions{}), newMark()
			id := s.background(fmt.Sprintf(`export MARK=%s
trap '' HUP INT TERM
bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & fi; %s; }
bomb 6`, mark, c.leaf))
			atLeast(t, mark, c.size)
			a := s.call("TaskStop", map[string]any{"task_id": id})
			if a.failed {
				t.Error(a.text)
			}
			noneLeft(t, mark, 0)
			t.Logf("it took %v", a.took)
		})
	}
}
