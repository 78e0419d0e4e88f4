//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// mounted returns false: only Linux mounts single files.
func mounted(*os.Root, string) bool { return false }

func openMounted(*os.Root, string) (*os.File, error) { return nil, errors.ErrUnsupported }
