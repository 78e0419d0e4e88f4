package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// keep does nothing: new content gets the access control list that its folder
// hands down.
func keep(*os.File, *Old) (newOwner, newGroup bool, err error) { return false, false, nil }

// mayWrite refuses what has the read-only attribute. What the access control
// list says shows when the file is replaced.
func mayWrite(_ *place, info fs.FileInfo) error {
	if info.Mode().Perm()&0o200 == 0 {
		return ErrProtected
	}
	return nil
}

// links is how many names the file has.
func links(file *os.File) uint64 {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info); err != nil {
		return 1
	}
	return uint64(info.NumberOfLinks)
}

// syncFolder does nothing: a folder cannot be asked for, and the file system
// keeps its names in a journal.
func syncFolder(*os.Root) error { return nil }
