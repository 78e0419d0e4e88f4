//go:build !linux && !darwin && !windows

package workspace

import (
	"errors"
	"os"
)

// renameExclusive is not to be had.
func renameExclusive(*os.Root, string, string) error { return errors.ErrUnsupported }
