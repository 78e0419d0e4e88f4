//go:build unix

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain also runs the test binary as the other processes of a test.
func TestMain(m *testing.M) {
	var err error
	switch path := os.Getenv("AUDIT_PATH"); os.Getenv("AUDIT_CHILD") {
	case "write":
		err = writeMany(path)
	case "full":
		err = writeFull(path)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const many = 500

func writeMany(path string) error {
	l, err := Open(Config{Path: path, MaxSize: 8 << 10, MaxFiles: 1000, Sync: Never, Timeout: patience})
	if err != nil {
		return err
	}
	for i := range many {
		if err := l.Write(context.Background(), Entry{Call: fmt.Sprintf("%d-%d", os.Getpid(), i)}); err != nil {
			return err
		}
	}
	return l.Close()
}

func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_CHILD="+what, "AUDIT_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestProcesses is like TestWriters, with processes.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const processes = 4
	var all []*exec.Cmd
	for range processes {
		cmd := child(t, "write", path)
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
	checkAll(t, path, processes*many)
}

// fileLimit is the size of the disk of TestDiskFull, in bytes.
const fileLimit = 1000

// writeFull writes until the disk is full, and once more after there is room
// again.
func writeFull(path string) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	l, err := Open(Config{Path: path})
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: fileLimit, Max: old.Max}); err != nil {
		return err
	}
	for i := range 100 {
		err := l.Write(context.Background(), Entry{Call: fmt.Sprint(i)})
		if want := "writing the audit log " + path + ": file too large"; err != nil && err.Error() != want {
			return fmt.Errorf("want %s, have %w", want, err)
		}
	}
	if lost := l.Lost(); lost == 0 || lost == 100 {
		return fmt.Errorf("%d of 100 calls lost", lost)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := l.Write(context.Background(), Entry{Call: "last"}); err != nil {
		return err
	}
	return l.Close()
}

// TestDiskFull checks that a call that does not fit fails and leaves no part of
// its line, and that another call is written when there is room again.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd := child(t, "full", path)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(lines[len(lines)-1], `"call":"last"`) || len(data) < fileLimit {
		t.Errorf("%q", data)
	}
}

// TestUntear checks that lines of another server after an incomplete line are
// unchanged.
func TestUntear(t *testing.T) {
	for _, behind := range []string{"", "{\"call\":\"another\"}\n"} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		d := &file{path: path, max: 1 << 20, maxFiles: 1, log: slog.New(slog.DiscardHandler)}
		if err := d.append([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := d.f.WriteString("{\"ca"); err != nil {
			t.Fatal(err)
		}
		d.torn = true
		want := "{}\n"
		if behind != "" {
			want += "{\"ca" + behind
			other, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.WriteString(behind); err != nil {
				t.Fatal(err)
			}
			_ = other.Close()
		}
		d.truncateTorn(4)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want || d.torn != (behind != "") {
			t.Errorf("%v, torn %v: %q, want %q", err, d.torn, got, want)
		}
		_ = d.close()
	}
}

// TestRefused checks that the log rejects files that others can change and
// files that are not regular, without blocking.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	plain := func(name string, mode fs.FileMode) string {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	if err := os.Symlink(plain("target", 0o600), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("open"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		plain("group", 0o620):          "others can write to it (mode -rw--w----); run chmod 600 on it",
		plain("all", 0o666):            "others can write to it (mode -rw-rw-rw-); run chmod 600 on it",
		at("link"):                     "it is a link; name the file itself",
		at("fifo"):                     "it is not an ordinary file; name another",
		"/dev/full":                    "it is not an ordinary file; name another",
		"/dev/stdout/a":                "/dev/stdout is not a folder",
		filepath.Join(at("open"), "a"): "everybody can replace files in " + at("open") + "; use another folder",
	} {
		l, err := Open(Config{Path: path})
		if l != nil {
			_ = l.Close()
		}
		if want = "opening the audit log " + path + ": " + want; err == nil || err.Error() != want {
			t.Errorf("want %s\nhave %v", want, err)
		}
	}
	if _, err := os.Lstat(at("open/a")); err == nil {
		t.Error("a file was made in a folder that is refused")
	}
	if err := os.Chmod(at("open"), 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	open(t, Config{Path: filepath.Join(at("open"), "a")}) // sticky, like /tmp
	open(t, Config{Path: plain("read", 0o644)})
}

// TestOwner checks that the log of another user is rejected.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Skip("files cannot be given away:", err)
	}
	if l, err := Open(Config{Path: path}); l != nil || err == nil || !strings.HasSuffix(err.Error(), "a: it belongs to another user; name another file") {
		t.Error(err)
	}
}

// TestPrivate checks that only this user can access the log, its lock and the
// rotated files.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	l := open(t, Config{Path: path, MaxSize: 300, MaxFiles: 3})
	for range 20 {
		write(t, l, "x")
	}
	all := files(t, path)
	for _, name := range all {
		if info, err := os.Lstat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if len(all) != 5 {
		t.Errorf("%q", all)
	}
}

// TestSwapped checks that a link that replaces the open log is not written to.
func TestSwapped(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "a"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, Config{Path: path})
	write(t, l, "x")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(t.Context(), Entry{}); err == nil || err.Error() != "writing the audit log "+path+": it is a link; name the file itself" {
		t.Error(err)
	}
	if data, err := os.ReadFile(target); err != nil || len(data) != 0 {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, l, "y")
	if got := calls(t, path); len(got) != 1 || got[0] != "y" {
		t.Errorf("%q", got)
	}
}

// TestLockHeld checks that a server that was stopped during rotation does not
// prevent others from writing.
func TestLockHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	l := open(t, Config{Path: path, MaxSize: 300})
	start := time.Now()
	for range 20 {
		write(t, l, "x")
	}
	if got := calls(t, path); len(got) != 20 {
		t.Errorf("%d lines", len(got))
	}
	if took := time.Since(start); took > 20*lockWait/2 {
		t.Errorf("waited %v for the lock, so more than once", took)
	}
}

// TestReady checks that Ready reports in advance that a line cannot be written.
func TestReady(t *testing.T) {
	l, err := Open(Config{Path: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	f, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := checkSpace(f, 1<<63); !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	if err := os.Remove(l.path); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(t.Context()); err != nil { // the file will be created again
		t.Error(err)
	}
	if err := os.Symlink("elsewhere", l.path); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(t.Context()); !errors.Is(err, unix.ELOOP) {
		t.Error(err)
	}
}
