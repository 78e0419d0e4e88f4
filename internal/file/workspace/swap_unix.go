//go:build unix && !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

func swapNames(*os.Root, string, string) error { return errors.ErrUnsupported }
