package document

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart returns attributes that shield a process from interrupts typed at the server's
// console, which the server handles itself, and from opening a window.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

func wasKilled(*os.ProcessState) bool { return false } // cannot be distinguished from an exit

// peakMemory returns 0: Windows does not report the memory of a process after its end.
func peakMemory(*os.ProcessState) int64 { return 0 }

// watchParent calls gone when the process with this id ends. Windows gives orphans no
// other parent, so watchParent waits for the process itself.
func watchParent(parent int, gone func()) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(parent))
	if err == nil {
		_, err = windows.WaitForSingleObject(h, windows.INFINITE)
	}
	if err == nil || err == windows.ERROR_INVALID_PARAMETER { // ended now, or earlier
		gone()
	}
}
