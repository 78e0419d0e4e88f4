//go:build !linux && !darwin && !windows

package workspace

import (
	"errors"
	"os"
)

// renameExclusive is not supported on these systems.
func renameExclusive(*os.Root, string, string) error { return errors.ErrUnsupported }
