package hook

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// mark is an environment variable that all processes of a hook inherit.
type mark string

func newMark(*testing.T) mark { return mark("HOOK_MARK=" + rand.Text()) }

func (m mark) add(c *Config) { c.Environ = append(c.Environ, string(m)) }

func (m mark) pids() []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if env, err := os.ReadFile(file); err == nil && bytes.Contains(env, []byte(m)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no process has the mark, because killed processes end with a
// delay.
func (m mark) gone(t *testing.T, what string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		pids := m.pids()
		if len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			m.kill()
			t.Fatalf("%s: processes %v are left", what, pids)
		}
	}
}

func (m mark) kill() {
	for _, pid := range m.pids() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
