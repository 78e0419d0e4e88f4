//go:build !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

// renameExclusive is not to be had.
func renameExclusive(*os.Root, string, string) error { return errors.ErrUnsupported }
