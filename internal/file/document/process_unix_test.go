//go:build unix

package document

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// parentArg makes the test binary a server. It reads its standard input as a kind within
// a time, which are the next two arguments. With one more argument it first removes its
// own program.
const parentArg = "be-parent"

func beParent() int {
	deadline, err := time.ParseDuration(os.Args[3])
	if err != nil {
		return 2
	}
	if len(os.Args) > 4 && os.Remove(os.Args[0]) != nil {
		return 2
	}
	r := NewReader(Config{})
	r.time = deadline
	if _, err := read[string](context.Background(), r, os.Stdin, request{Kind: kind(os.Args[2]), Memory: baseMemory}); err != nil {
		return 1
	}
	return 0
}

func init() {
	badKinds["killed"] = func(*os.File, request) (any, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// A process ends by itself after its server was killed.
func TestOrphan(t *testing.T) { testOrphan(t, "hang", maxTime) }

func testOrphan(t *testing.T, k kind, deadline time.Duration) {
	f := tempFile(t, nil)
	// The lock is held as long as any process has this open file description.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(os.Args[0], parentArg, string(k), deadline.String())
	server.Stdin = f
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process runs", isRunning(t, f))
	again, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	free := func() bool { return syscall.Flock(int(again.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }
	if free() {
		t.Error("the lock is not that of the processes")
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	eventually(t, "the process without a server is gone", free)
}

// A file is not reported as damaged when the system killed its process.
func TestStarved(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	_, err := read[string](t.Context(), r, tempFile(t, nil), request{Kind: "killed", Memory: baseMemory})
	const want = "needs more memory to read than the system has left. Read it again later, or a smaller copy of it."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The server waits for every process.
func TestNoZombies(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	for _, k := range []kind{"value", "exit", "killed", "flood"} {
		_, _ = read[string](t.Context(), r, tempFile(t, nil), request{Kind: k, Memory: baseMemory})
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("there is a child left: pid %d, %v", pid, err)
	}
}
