//go:build linux || darwin

package upstream

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClosed checks that a server and its descendants end soon after the
// Manager is closed, even if it ignores requests to end.
func TestClosed(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	stubborn := Server{Name: "x", Prefix: "x", Command: "/bin/sh", Args: []string{"-c",
		`trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $! $$ > "$1"; sleep 1000; sleep 1000`, "sh", pids}}
	m, _ := begin(t, Config{Servers: []Server{stubborn, stdioServer(t, "y", "modern")}})
	m.WakeAll(t.Context(), 0)
	if got := text2(invoke(t, m, "y", "echo", `{}`, nil)); got != "{}" {
		t.Error(got)
	}
	y, _ := strconv.Atoi(text2(invoke(t, m, "y", "pid", `{}`, nil)))
	all := []int{y}
	for end := time.Now().Add(failTime); len(all) < 3; time.Sleep(time.Millisecond) {
		data, _ := os.ReadFile(pids)
		if words := strings.Fields(string(data)); len(words) == 2 {
			for _, w := range words {
				pid, _ := strconv.Atoi(w)
				all = append(all, pid)
			}
		}
		if time.Now().After(end) {
			t.Fatal("the server did not start")
		}
	}
	begun := time.Now()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("it took %s", time.Since(begun))
	for _, pid := range all {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}
