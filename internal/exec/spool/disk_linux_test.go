package spool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFullDisk uses a real disk that is full: 1 MiB, in a mount namespace of its own.
func TestFullDisk(t *testing.T) {
	cmd := exec.Command(os.Args[0], smallArg, t.TempDir())
	uid := os.Getuid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWNS | unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && string(out) == "good\n":
	case strings.Contains(string(out), "no mount") || cmd.Process == nil:
		t.Skipf("%v: %s", err, out)
	default:
		t.Errorf("%v: %s", err, out)
	}
}

// smallArg makes the test binary store too much on a small disk, mounted at the folder given as the
// next argument.
const smallArg = "be-on-small-disk"

func beOnSmallDisk(dir string) int {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		fmt.Println("no mount:", err)
		return 1
	}
	if err := fillSmallDisk(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("good")
	return 0
}

func fillSmallDisk(dir string) error {
	s := NewStore(filepath.Join(dir, "state", "output"), DefaultQuota, time.Now)
	l, err := s.New("task")
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = w.WriteString("begin\n" + strings.Repeat("line\n", 1<<20) + "end\n")
		w.Close()
	}()
	if err := l.Pump(r); err != nil {
		return err
	}
	v, err := l.View(60)
	printed, stored := l.Bytes()
	if err != nil || v.Head != "begin\n" || !strings.HasSuffix(v.Tail, "line\nend\n") {
		return fmt.Errorf("%+v, %w", v, err)
	}
	if l.Err() == nil || l.Err().(interface{ Unwrap() error }).Unwrap().(*os.PathError).Err != unix.ENOSPC || printed != 5<<20+10 || stored == 0 || stored > 1<<20 {
		return fmt.Errorf("%w: %d of %d", l.Err(), stored, printed)
	}
	return nil
}
