//go:build !unix

package gitfront

import (
	"errors"
	"os"
)

func replaceStdin(*os.File) error { return errors.ErrUnsupported }
