package monitor

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	tasks "mcp-toolset/internal/exec/task"
)

// TestCommand checks the events of commands.
func TestCommand(t *testing.T) {
	f := newFixture(t)
	f.start(t, map[string]any{"command": "echo a; echo b >&2; echo -n c; exit 3", "filter": "[ac]"})
	f.wants(t, "> a", "> c", "ended, exit code 3: what is new. 2 of 3 lines matched.")

	m := f.start(t, map[string]any{"command": "echo a; sleep 1000", "timeout_ms": 1000})
	f.wants(t, "> a", "ended, timed out after 1 s and was stopped: what is new. It read 1 line.")
	if s := m.Status(); s.State != tasks.TimedOut {
		t.Errorf("%+v", s)
	}

	m = f.start(t, map[string]any{"command": "echo a; sleep 1000", "persistent": true})
	f.wants(t, "> a")
	if m.Status().State != tasks.Running || m.Title() != "what is new: echo a; sleep 1000" {
		t.Errorf("%+v, %s", m.Status(), m.Title())
	}
	if err := m.Stop("TaskStop"); err != nil {
		t.Fatal(err)
	}
	f.wants(t, "ended, stopped by TaskStop: what is new. It read 1 line.")

	f.start(t, map[string]any{"command": "sleep 1000", "persistent": true})
	f.Bash.Tasks.Forget(me, "the end of the session")
	if got := f.Bash.Tasks.List(me); len(got) > 0 {
		t.Errorf("%d tasks are left", len(got))
	}
}

// TestManyLines checks that a flood is counted and takes no memory.
func TestManyLines(t *testing.T) {
	f := newFixture(t)
	const most = 16 << 20 // a million strings take more
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := f.start(t, map[string]any{"command": "seq 1000000", "persistent": true})
	for tick := time.Tick(50 * time.Millisecond); ; {
		runtime.GC()
		runtime.ReadMemStats(&now)
		if now.HeapAlloc > before.HeapAlloc+most {
			t.Fatalf("the heap grew from %d to %d bytes", before.HeapAlloc, now.HeapAlloc)
		}
		select {
		case <-m.Done():
		case <-tick:
			continue
		}
		break
	}
	all := f.texts()
	suppressed, shown := 0, 0
	for _, text := range all {
		n := 0
		if _, err := fmt.Sscanf(text, "%d lines suppressed", &n); err == nil {
			suppressed += n
		} else if strings.HasPrefix(text, "> ") {
			shown++
		}
	}
	if last := all[len(all)-1]; suppressed+shown != 1000000 || last != "ended, exit code 0: what is new. It read 1000000 lines." {
		t.Errorf("%d lines shown and %d suppressed; %s", shown, suppressed, last)
	}
	if n := openFiles(t); n > 0 {
		t.Errorf("%d logs are open", n)
	}
}

// openFiles returns the number of open output logs.
func openFiles(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if to, _ := os.Readlink("/proc/self/fd/" + d.Name()); strings.HasSuffix(to, ".log") {
			n++
		}
	}
	return n
}
