package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// errInvalid is the error of file systems that cannot exchange names.
var errInvalid = errors.ErrUnsupported

func setOwner(*os.File, Owner) error { return nil }

func hardLink(from *Spot, dir *os.Root, name string) error {
	return os.Link(from.dir.Name()+separator+from.name, dir.Name()+separator+name)
}

func removeEmpty(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return ErrDiffers
	}
	return dir.Remove(name)
}

func setMode(dir *os.Root, name string, seen fs.FileInfo, mode fs.FileMode) error {
	if now, err := dir.Lstat(name); err != nil || !os.SameFile(now, seen) {
		return ErrDiffers
	}
	return dir.Chmod(name, mode)
}

func swapNames(*os.Root, string, string) error { return errors.ErrUnsupported }
