package workspace

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// renameInfo has the layout of FILE_RENAME_INFORMATION.
type renameInfo struct {
	replace bool
	root    windows.Handle
	length  uint32
	name    [windows.MAX_PATH]uint16
}

// renameExclusive renames a file in dir. It returns fs.ErrExist if the new name is
// taken.
func renameExclusive(dir *os.Root, from, to string) error {
	folder, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	file, err := openNamed(windows.Handle(folder.Fd()), from, windows.DELETE)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(file)
	name, err := windows.UTF16FromString(to)
	if err != nil {
		return err
	}
	info := renameInfo{root: windows.Handle(folder.Fd()), length: uint32(2 * (len(name) - 1))}
	if copy(info.name[:], name) < len(name) {
		return errors.ErrUnsupported
	}
	var status windows.IO_STATUS_BLOCK
	err = windows.NtSetInformationFile(file, &status, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), windows.FileRenameInformation)
	return inWords(err)
}

// openNamed opens a file in a folder. It opens a link itself, not its target.
func openNamed(folder windows.Handle, name string, access uint32) (windows.Handle, error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: folder, ObjectName: text}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var file windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&file, access|windows.SYNCHRONIZE, &attributes, &status, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	return file, inWords(err)
}

// inWords converts an error of the kernel into one that package errors can compare.
func inWords(err error) error {
	if status, ok := err.(windows.NTStatus); ok {
		return status.Errno()
	}
	return err
}
