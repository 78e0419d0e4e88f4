package socket

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/exec/process"
)

// checkPeer rejects descendants of this server or another one. It identifies
// commands by their job object, and other processes by their ancestors. The
// security descriptor of the pipe excludes other users.
func checkPeer(c Conn) error {
	pipe := c.(pipeConn)
	var pid uint32
	if err := windows.GetNamedPipeClientProcessId(pipe.handle, &pid); err != nil {
		return errUnknown
	}
	peer, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return errUnknown
	}
	defer windows.CloseHandle(peer) // until then, its id is not reused
	below, err := process.StartedByServer(pid)
	if err != nil {
		return errUnknown
	}
	if below {
		return ErrBelow
	}
	if err := checkAncestors(int(pid), os.Getpid(), lookFrom(int(pid))); err != nil {
		return err
	}
	// The process may have ended before it was opened, and its id may have been
	// reused.
	if event, err := windows.WaitForSingleObject(peer, 0); err != nil || event == windows.WAIT_OBJECT_0 {
		return errUnknown
	}
	return nil
}

// lookFrom returns a look function for checkAncestors. It lists all processes
// again at the first process of each chain.
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

// look returns a process with its parent, start time and program. The parent is
// 0 if it has ended: Windows assigns no other.
func look(pid int, parents map[uint32]uint32) (relative, error) {
	start, image, err := processInfo(uint32(pid))
	if err != nil {
		return relative{}, err
	}
	r := relative{pid: pid, start: fmt.Sprint(start), sameProgram: sameProgram(image)}
	parent, ok := parents[uint32(pid)]
	if !ok {
		return relative{}, os.ErrNotExist
	}
	switch began, _, err := processInfo(parent); {
	case errors.Is(err, errForeign):
		r.parent = int(parent)
	case err == nil && began <= start: // otherwise a later process has the parent's id
		r.parent = int(parent)
	}
	return r, nil
}

// processInfo returns the start time and the program of a process.
func processInfo(pid uint32) (start int64, image string, err error) {
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

// listParents maps each running process to its parent.
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

// ownProgram returns the executable file of this process.
var ownProgram = sync.OnceValues(func() (os.FileInfo, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Stat(own)
})

// sameProgram reports whether image is the executable of this process.
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
