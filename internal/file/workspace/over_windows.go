package workspace

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// busyWait is the timeout for a file that other programs have open: virus scanners and
// indexers open every file that changes.
const busyWait = 2 * time.Second

// renameOver renames the file from to the name of the old file, which it replaces. NTFS
// of Windows 10 and newer replaces a file that is open. Other file systems (FAT,
// shares) do not, so renameOver closes the old file, which releases its lock. Then it
// checks the old file before each attempt, and a change of it makes the Update start
// again.
func (p *place) renameOver(from string, old *Old) error {
	err := p.dir.Rename(from, p.name)
	if !isBusy(err) {
		return err
	}
	old.File.Close()
	limit := time.Now().Add(busyWait)
	for wait := time.Millisecond; ; wait *= 2 {
		if moved := p.checkUnchanged(old); moved != nil {
			return moved
		}
		if err = p.dir.Rename(from, p.name); !isBusy(err) || time.Now().After(limit) {
			return err
		}
		time.Sleep(wait)
	}
}

// isBusy reports whether a rename failed because the file is open.
func isBusy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
