// Package silentfs mounts a file system that does not answer, for tests.
package silentfs

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-toolset/internal/exec/mounttest"
)

// Mount mounts a FUSE file system on dir that answers only the first request, INIT. So
// opening or listing dir blocks, as on a network file system whose server is gone. end
// breaks the connection, and all blocked calls fail; at the latest it is called at the
// end of the test.
//
// The test must run in a mount namespace of its own, see mounttest.Own. Mount skips the test if such a file system cannot be mounted.
func Mount(t testing.TB, dir string) (end func()) {
	t.Helper()
	if !mounttest.Inside() {
		t.Fatal("begin the test with mounttest.Own: a mount disturbs other tests")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: opening /dev/fuse: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	if err := unix.Mount("silent", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		t.Skipf("no FUSE here: mounting: %v", err)
	}
	end = sync.OnceFunc(func() {
		unix.Close(fd)
		if err := unix.Unmount(dir, unix.MNT_DETACH|unix.MNT_FORCE); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	t.Cleanup(end)
	if err := answerInit(fd); err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	return end
}

// answerInit reads the first request and answers it, see fuse(4).
func answerInit(fd int) error {
	request := make([]byte, 64<<10)
	n, err := unix.Read(fd, request)
	if err != nil || n < 16 {
		return fmt.Errorf("reading INIT: %d bytes, %v", n, err)
	}
	const header, body = 16, 64
	answer := make([]byte, header+body)
	binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
	copy(answer[8:16], request[8:16]) // the number of the request
	binary.NativeEndian.PutUint32(answer[header:], 7)
	binary.NativeEndian.PutUint32(answer[header+4:], 31)
	binary.NativeEndian.PutUint32(answer[header+20:], 64<<10) // the longest write
	if _, err := unix.Write(fd, answer); err != nil {
		return fmt.Errorf("answering INIT: %w", err)
	}
	return nil
}
