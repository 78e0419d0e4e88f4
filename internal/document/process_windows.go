package document

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart keeps a process out of the interrupts typed at the server's console,
// which the server answers itself, and from opening a window of its own.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

func wasKilled(*os.ProcessState) bool { return false } // cannot be told from an exit

// peakMemory is not known: Windows forgets it with the process.
func peakMemory(*os.ProcessState) int64 { return 0 }

// watchParent calls gone when the process with this id ends. There is no
// adoption to watch for, so it is waited for.
func watchParent(parent int, gone func()) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(parent))
	if err == nil {
		_, err = windows.WaitForSingleObject(h, windows.INFINITE)
	}
	if err == nil || err == windows.ERROR_INVALID_PARAMETER { // ended, or has before
		gone()
	}
}
