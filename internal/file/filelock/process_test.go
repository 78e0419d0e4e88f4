//go:build unix

package filelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const (
	processes  = 8
	increments = 200
)

// TestMain also runs the test binary as the other processes of a test.
func TestMain(m *testing.M) {
	dir := os.Getenv("FILELOCK_DIR")
	switch os.Getenv("FILELOCK_CHILD") {
	case "count":
		fail(count(dir))
	case "hold":
		release, err := New(dir).Lock(context.Background(), name)
		fail(err)
		defer release() // not reached: the process is killed
		idle()
	case "idle":
		idle()
	default:
		os.Exit(m.Run())
	}
}

// idle reports that the process is ready, and waits for the parent to end it.
func idle() {
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// count increments the number in a file while holding the lock.
func count(dir string) error {
	l := New(dir)
	for range increments {
		release, err := l.Lock(context.Background(), name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, "number"))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			return err // another process was writing
		}
		if err := os.WriteFile(filepath.Join(dir, "number"), []byte(strconv.Itoa(n+1)), 0o600); err != nil {
			return err
		}
		release()
	}
	return nil
}

func child(t *testing.T, what, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FILELOCK_CHILD="+what, "FILELOCK_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// start runs a child that prints one line when it is ready.
func start(t *testing.T, what, dir string) (end func()) {
	t.Helper()
	_, end = startProcess(t, what, dir)
	return end
}

func startProcess(t *testing.T, what, dir string) (cmd *exec.Cmd, end func()) {
	t.Helper()
	cmd = child(t, what, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd, sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		in.Close()
	})
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	number := filepath.Join(dir, "number")
	if err := os.WriteFile(number, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for range processes {
		cmd := child(t, "count", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(number); string(text) != strconv.Itoa(processes*increments) {
		t.Errorf("%d processes counted to %s, %v", processes, text, err)
	}
}

func TestHolderKilled(t *testing.T) {
	dir := t.TempDir()
	end := start(t, "hold", dir)
	defer end()
	l := New(dir)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Lock(ctx, name); err == nil {
		t.Fatal("took what another process holds")
	}
	end()
	take(t, l, name)()
}

// TestHolderStopped checks that a stopped process that holds a lock is not
// waited for without end.
func TestHolderStopped(t *testing.T) {
	dir := t.TempDir()
	cmd, end := startProcess(t, "hold", dir)
	defer end()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := New(dir).Lock(t.Context(), name); !errors.Is(err, ErrHeld) {
			t.Error(err)
		}
	})
}

// TestNotInherited checks that a child started while the lock is held does not
// retain it.
func TestNotInherited(t *testing.T) {
	dir := t.TempDir()
	l := New(dir)
	w := lockFile(dir)
	if !free(t, w) {
		t.Fatal("held by nobody")
	}
	end := start(t, "idle", dir)
	defer end()
	w.drop() // closed without unlocking, as if the process had died
	take(t, l, name)()
}

func TestPrivate(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "locks"))
	take(t, l, name)()
	file := filepath.Join(l.dir, fmt.Sprintf("%02x.lock", bucket(name)))
	for path, want := range map[string]fs.FileMode{l.dir: 0o700, file: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, file); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lock(t.Context(), name); err == nil {
		t.Error("a link was taken for a lock file")
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("made what a link leads to")
	}
}
