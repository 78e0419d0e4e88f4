package process

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// markJob returns the job object of all commands of all servers of this user. It
// has no limits: it marks processes that a server has started, however far down.
// The job of a command is nested in it.
var markJob = sync.OnceValues(func() (windows.Handle, error) {
	sid, err := ownSID()
	if err != nil {
		return 0, err
	}
	name, err := windows.UTF16PtrFromString(`Global\mcp-toolset-commands-` + sid)
	if err != nil {
		return 0, err
	}
	// Only this user may put processes into it or ask about it.
	sd, err := windows.SecurityDescriptorFromString("O:" + sid + "D:P(A;;GA;;;" + sid + ")")
	if err != nil {
		return 0, err
	}
	sa := windows.SecurityAttributes{Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: sd}
	h, err := windows.CreateJobObject(&sa, name) // or opens the one that exists
	if err != nil {
		return 0, fmt.Errorf("making the job object that marks commands: %w", err)
	}
	return h, nil
})

// ownSID returns the SID of the user that this process runs as.
func ownSID() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("finding the user of this process: %w", err)
	}
	return user.User.Sid.String(), nil
}

var isProcessInJob = windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")

// StartedByServer reports whether a process is a command of a server of this user
// or was started by one. The caller has the process open, so that no other one can
// have its number.
func StartedByServer(pid uint32) (bool, error) {
	mark, err := markJob()
	if err != nil {
		return false, err
	}
	// Wine wants the first right, and Windows denies it for elevated processes.
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, pid)
	if err != nil {
		process, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	}
	if err != nil {
		return false, fmt.Errorf("opening process %d: %w", pid, err)
	}
	defer windows.CloseHandle(process)
	var in int32
	if ok, _, err := isProcessInJob.Call(uintptr(process), uintptr(mark), uintptr(unsafe.Pointer(&in))); ok == 0 {
		return false, fmt.Errorf("asking for the job of process %d: %w", pid, err)
	}
	return in != 0, nil
}
