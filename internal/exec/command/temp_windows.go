package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/windows"
)

// handle is a Windows handle that implements io.Closer.
type handle windows.Handle

func (h handle) Close() error { return windows.CloseHandle(windows.Handle(h)) }

// lockFolder locks a folder until the closer is closed or the process ends in any way.
// It fails if the folder is locked. The lock is a named mutex: a lock on the folder
// itself would prevent others from listing it and its owner from removing it.
func lockFolder(dir string) (io.Closer, error) {
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`Global\mcp-toolset-folder-%x`, sha256.Sum256([]byte(strings.ToLower(dir)))))
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateMutex(nil, false, name)
	if errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		_ = windows.CloseHandle(h)
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return handle(h), nil
}
