//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const token = "soak-token-of-thirty-two-characters"

// server is the process under test.
type server struct {
	cmd *exec.Cmd
	url string
}

// start starts the server on the workspace in dir.
func start(binary, dir string) (*server, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(settings, []byte(`{"editGuard":"off"}`), 0o600); err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(binary, "http", "--addr", "127.0.0.1:0", "--log-level", "error",
		"--mode", "bypassPermissions", "--settings", settings, filepath.Join(dir, "root"))}
	s.cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CONFIG_HOME=", "TMPDIR="+filepath.Join(dir, "tmp"),
		"MCP_TOOLSET_TOKEN="+token, "MCP_TOOLSET_STATE_DIR="+filepath.Join(dir, "state"))
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if err != nil || !ok {
		s.kill()
		return nil, fmt.Errorf("the server printed %q first (%v)", first, err)
	}
	go func() { _, _ = lines.WriteTo(os.Stderr) }()
	s.url = url
	return s, nil
}

// stop ends the server by SIGTERM and returns how it ended.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(30*time.Second, s.kill)
	defer late.Stop()
	return s.cmd.Wait()
}

func (s *server) kill() { _ = s.cmd.Process.Kill() }

// usage holds the resources of the server: resident memory in MB, descriptors
// and threads.
type usage struct{ earlyMB, lastMB, peakMB, files, threads int }

// sample measures the server every two seconds until ctx ends. It measures
// nothing on systems without /proc.
func (s *server) sample(ctx context.Context) (u usage) {
	begun := time.Now()
	deadline, _ := ctx.Deadline()
	proc := fmt.Sprintf("/proc/%d", s.cmd.Process.Pid)
	for tick := time.NewTicker(2 * time.Second); ; {
		select {
		case <-ctx.Done():
			return u
		case <-tick.C:
		}
		status, err := os.ReadFile(proc + "/status")
		if err != nil {
			continue
		}
		u.lastMB = field(status, "VmRSS:") >> 10
		u.peakMB = max(u.peakMB, u.lastMB)
		u.threads = max(u.threads, field(status, "Threads:"))
		if time.Since(begun) <= deadline.Sub(begun)/5 {
			u.earlyMB = u.lastMB
		}
		if open, err := os.ReadDir(proc + "/fd"); err == nil {
			u.files = max(u.files, len(open))
		}
	}
}

// field returns the number after name in a status file of /proc.
func field(status []byte, name string) int {
	_, rest, _ := strings.Cut(string(status), name)
	if words := strings.Fields(rest); len(words) > 0 {
		n, _ := strconv.Atoi(words[0])
		return n
	}
	return 0
}
