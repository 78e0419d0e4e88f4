package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// keptAttributes are the attributes that new content gets from the old.
const keptAttributes = windows.FILE_ATTRIBUTE_HIDDEN | windows.FILE_ATTRIBUTE_SYSTEM | windows.FILE_ATTRIBUTE_NOT_CONTENT_INDEXED

// keep gives new content the access control list and the attributes of old. It
// fails if a list that is not inherited from the folder cannot be kept: the list may
// deny others access to the file.
func keep(t *temp, old *Old) (newOwner, newGroup bool, err error) {
	list, err := accessList(old.File)
	if err != nil {
		return false, false, fmt.Errorf("reading the access control list: %w", err)
	}
	if now, err := accessList(t.file); err != nil || now.String() != list.String() {
		if err := setAccessList(t, list); err != nil {
			return false, false, fmt.Errorf("keeping the access control list: %w", err)
		}
	}
	keepFlags(t.file, old.Info)
	return false, false, nil
}

func accessList(file *os.File) (*windows.SECURITY_DESCRIPTOR, error) {
	return windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
}

// setAccessList opens a handle of its own: one for writing has no right to change
// the list.
func setAccessList(t *temp, list *windows.SECURITY_DESCRIPTOR) error {
	dacl, _, err := list.DACL()
	if err != nil {
		return err
	}
	control, _, err := list.Control()
	if err != nil {
		return err
	}
	what := windows.SECURITY_INFORMATION(windows.DACL_SECURITY_INFORMATION | windows.UNPROTECTED_DACL_SECURITY_INFORMATION)
	if control&windows.SE_DACL_PROTECTED != 0 {
		what = windows.DACL_SECURITY_INFORMATION | windows.PROTECTED_DACL_SECURITY_INFORMATION
	}
	folder, err := t.dir.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	file, err := openNamed(windows.Handle(folder.Fd()), t.name, windows.READ_CONTROL|windows.WRITE_DAC)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(file)
	return windows.SetSecurityInfo(file, windows.SE_FILE_OBJECT, what, nil, nil, dacl, nil)
}

// keepFlags ignores errors: it is no harm if a file is not hidden any more.
func keepFlags(file *os.File, old fs.FileInfo) {
	data, ok := old.Sys().(*syscall.Win32FileAttributeData)
	if !ok || data.FileAttributes&keptAttributes == 0 {
		return
	}
	info := struct {
		times      [4]int64 // 0: unchanged
		attributes uint32
		_          uint32
	}{attributes: data.FileAttributes&keptAttributes | windows.FILE_ATTRIBUTE_ARCHIVE}
	_ = windows.SetFileInformationByHandle(windows.Handle(file.Fd()), windows.FileBasicInfo, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
}

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
