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

// newMark is a text by which the processes of a test are known.
func newMark() string { return "mark-" + rand.Text() }

// marked lists the processes that have a mark: in their environment, as
// children of a shell that exports it have, or in their arguments, as the shell
// itself has.
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
				continue // gone, or somebody else's
			}
			line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			found = append(found, fmt.Sprintf("%s %.80q", filepath.Base(folder), line))
			break
		}
	}
	return found
}

// atLeast waits until so many processes have a mark.
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

// treeSize is how many processes with the mark a tree has at least.
const treeSize = 8

// tree is a command that starts what is hard to end: a child in a session of its
// own, one whose parents are gone, two that ignore to be told, one of which
// starts others when told.
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

// held is how much memory a process had at most until now, in MB.
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
