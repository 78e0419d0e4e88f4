package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// copiedAttributes lists the attributes that a new file gets from the old.
const copiedAttributes = windows.FILE_ATTRIBUTE_HIDDEN | windows.FILE_ATTRIBUTE_SYSTEM | windows.FILE_ATTRIBUTE_NOT_CONTENT_INDEXED

// copyMetadata gives the new file t the access control list and the attributes of old. It fails
// if a list that differs from the inherited one cannot be copied, since the list may
// deny others access to the file.
func copyMetadata(t *temp, old *Old) (newOwner, newGroup bool, err error) {
	list, err := accessList(old.File)
	if err != nil {
		return false, false, fmt.Errorf("reading the access control list: %w", err)
	}
	if now, err := accessList(t.file); err != nil || now.String() != list.String() {
		if err := setAccessList(t, list); err != nil {
			return false, false, fmt.Errorf("keeping the access control list: %w", err)
		}
	}
	copyFlags(t.file, old.Info)
	return false, false, nil
}

func accessList(file *os.File) (*windows.SECURITY_DESCRIPTOR, error) {
	return windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
}

// setAccessList sets the access control list of t. It opens a handle of its own, since
// a handle for writing has no right to change the list.
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

// copyFlags copies copiedAttributes. It ignores errors: a file that is no longer hidden
// does no harm.
func copyFlags(file *os.File, old fs.FileInfo) {
	data, ok := old.Sys().(*syscall.Win32FileAttributeData)
	if !ok || data.FileAttributes&copiedAttributes == 0 {
		return
	}
	info := struct {
		times      [4]int64 // 0: unchanged
		attributes uint32
		_          uint32
	}{attributes: data.FileAttributes&copiedAttributes | windows.FILE_ATTRIBUTE_ARCHIVE}
	_ = windows.SetFileInformationByHandle(windows.Handle(file.Fd()), windows.FileBasicInfo, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
}

// mayWrite returns ErrProtected for a file with the read-only attribute. Denials of the
// access control list appear when the file is replaced.
func mayWrite(_ *place, info fs.FileInfo) error {
	if info.Mode().Perm()&0o200 == 0 {
		return ErrProtected
	}
	return nil
}

// links returns the number of names (hard links) of the file.
func links(file *os.File) uint64 {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &info); err != nil {
		return 1
	}
	return uint64(info.NumberOfLinks)
}

// syncFolder does nothing: there is no such call for a folder, and the file system
// stores names in a journal.
func syncFolder(*os.Root) error { return nil }
