package approval

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/process"
)

// checkPeer refuses processes below this server or another one: commands by their
// job object, other processes that a server starts by their parents. The descriptor
// of the pipe keeps other users out.
func checkPeer(c conn) error {
	pipe := c.(pipeConn)
	var pid uint32
	if err := windows.GetNamedPipeClientProcessId(pipe.handle, &pid); err != nil {
		return errUnknown
	}
	peer, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return errUnknown
	}
	defer windows.CloseHandle(peer) // until then its number is not reused
	below, err := process.StartedByServer(pid)
	if err != nil {
		return errUnknown
	}
	if below {
		return errBelow
	}
	if err := checkAncestors(int(pid), os.Getpid(), lookFrom(int(pid))); err != nil {
		return err
	}
	// A process that has ended may have ended before it was opened, and its number
	// may have been reused.
	if event, err := windows.WaitForSingleObject(peer, 0); err != nil || event == windows.WAIT_OBJECT_0 {
		return errUnknown
	}
	return nil
}

// lookFrom returns a function that looks at processes, which lists all anew each
// time that it is asked for the first of a chain.
func lookFrom(first int) func(pid int) (relative, error) {
	var parents map[uint32]uint32
	return func(pid int) (r relative, err error) {
		if pid == first {
			if parents, err = listParents(); err != nil {
				return r, err
			}
		}
		return look(pid, parents)
	}
}

// look returns the parent, start and program of a process. The parent is 0 if it
// has ended: Windows assigns no other.
func look(pid int, parents map[uint32]uint32) (relative, error) {
	start, image, err := looks(uint32(pid))
	if err != nil {
		return relative{}, err
	}
	r := relative{pid: pid, start: fmt.Sprint(start), ours: sameProgram(image)}
	parent, ok := parents[uint32(pid)]
	if !ok {
		return relative{}, os.ErrNotExist
	}
	switch began, _, err := looks(parent); {
	case errors.Is(err, errForeign):
		r.parent = int(parent)
	case err == nil && began <= start: // else the number was reused by a later process
		r.parent = int(parent)
	}
	return r, nil
}

// looks returns when a process was started, and its program.
func looks(pid uint32) (start int64, image string, err error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return 0, "", errForeign
	}
	if err != nil {
		return 0, "", err
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, "", err
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(buf))
	if windows.QueryFullProcessImageName(h, 0, &buf[0], &n) == nil {
		image = windows.UTF16ToString(buf[:n])
	}
	return created.Nanoseconds(), image, nil
}

// listParents returns which process has started each that runs.
func listParents() (map[uint32]uint32, error) {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(all)
	parents := map[uint32]uint32{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &entry); err == nil; err = windows.Process32Next(all, &entry) {
		parents[entry.ProcessID] = entry.ParentProcessID
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, err
	}
	return parents, nil
}

// ownProgram is the file that this process runs.
var ownProgram = sync.OnceValues(func() (os.FileInfo, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Stat(own)
})

// sameProgram reports whether image is the program that this process runs.
func sameProgram(image string) bool {
	if image == "" {
		return false
	}
	ours, err := ownProgram()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(image)
	return err == nil && os.SameFile(theirs, ours)
}
