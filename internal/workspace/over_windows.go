package workspace

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// busyWait is how long to wait for a file that others have open: a virus scanner or
// an indexer opens every file that changes.
const busyWait = 2 * time.Second

// renameOver gives the file called from the name of the old one. NTFS of
// Windows 10 and newer replaces a file that is open. Others (FAT, shares) do
// not, so the old file is closed for them, which gives up its lock: from then on
// it is looked at again before each attempt, and a change of it starts over.
func (p *place) renameOver(from string, old *Old) error {
	err := p.dir.Rename(from, p.name)
	if !isBusy(err) {
		return err
	}
	old.File.Close()
	limit := time.Now().Add(busyWait)
	for wait := time.Millisecond; ; wait *= 2 {
		if moved := p.still(old); moved != nil {
			return moved
		}
		if err = p.dir.Rename(from, p.name); !isBusy(err) || time.Now().After(limit) {
			return err
		}
		time.Sleep(wait)
	}
}

// isBusy reports whether a file could not be renamed because it is open.
func isBusy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}
