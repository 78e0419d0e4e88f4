package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newMark returns a unique text that identifies the processes of a test.
func newMark() string { return "mark-" + rand.Text() }

// marked lists the processes that have a mark in their environment or arguments. The
// children of a shell that exports the mark have it in their environment, the shell
// itself in its arguments.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no processes: %v", err)
	}
	for _, folder := range folders {
		for _, name := range []string{"environ", "cmdline"} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil || !bytes.Contains(text, []byte(mark)) {
				continue // ended, or another user's
			}
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found = append(found, fmt.Sprintf("%s %.80q", filepath.Base(folder), line))
			break
		}
	}
	return found
}

// atLeast waits until at least n processes have a mark.
func atLeast(t *testing.T, mark string, n int) {
	t.Helper()
	end := time.Now().Add(shellTime)
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		found := marked(t, mark)
		if len(found) >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes, want %d, the last: %q", len(found), n, found[max(0, len(found)-5):])
		}
	}
}

// noneLeft waits until no process has a mark.
func noneLeft(t *testing.T, mark string, within time.Duration) {
	t.Helper()
	end := time.Now().Add(within)
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		found := marked(t, mark)
		if len(found) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d processes are left after %v, the first: %q", len(found), within, found[:min(len(found), 5)])
			return
		}
	}
}

// treeSize is the least number of marked processes of a tree.
const treeSize = 8

// tree returns a command that starts processes that are hard to end: a child in a session
// of its own, one whose parents have exited, and two that ignore signals. One of these
// starts others when it gets a signal.
func tree(mark string) string {
	return "export MARK=" + mark + `
setsid sleep 3000 &
( ( sleep 3001 & ) & )
( setsid bash -c 'trap "" TERM HUP INT; while :; do sleep 3002; done' & )
bash -c 'trap "setsid sleep 3003 & setsid sleep 3003 &" TERM; while :; do sleep 3004; done' &
trap "" TERM
echo ready
while :; do sleep 3005; done`
}

// held returns the peak memory of a process, in MB.
func held(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return float64(kb) / 1024
		}
	}
	t.Fatal("the system does not say how much memory was held")
	return 0
}
