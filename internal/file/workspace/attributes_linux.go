package workspace

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	accessList    = "system.posix_acl_access"
	userAttribute = "user."
)

// copyAttributes copies the user's extended attributes from old to file, as far as it
// can, and the access control list. It reports whether file has the same list as old,
// which may be none. Without the list, the group bits would have another meaning.
// Labels and capabilities (security.*) are left to the system.
func copyAttributes(file, old *os.File) (sameList bool) {
	err := onFd(file, func(to int) error {
		return onFd(old, func(from int) error {
			for _, name := range attributeNames(from) {
				if strings.HasPrefix(name, userAttribute) {
					_ = copyAttribute(to, from, name)
				}
			}
			err := copyAttribute(to, from, accessList)
			if err == unix.ENODATA {
				// The new file may have inherited a list from the folder.
				err = unix.Fremovexattr(to, accessList)
			}
			return err
		})
	})
	return err == nil || err == unix.ENODATA || err == unix.EOPNOTSUPP
}

func copyAttribute(to, from int, name string) error {
	value, err := attribute(func(b []byte) (int, error) { return unix.Fgetxattr(from, name, b) })
	if err != nil {
		return err
	}
	return unix.Fsetxattr(to, name, value, 0)
}

func attributeNames(fd int) []string {
	list, err := attribute(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
	if err != nil {
		return nil
	}
	return strings.Split(string(list), "\x00")
}

// attribute returns an attribute or list of any size. It fails if the value grows
// between the two calls. Linux limits values to 64 KiB.
func attribute(get func([]byte) (int, error)) ([]byte, error) {
	size, err := get(nil)
	if err != nil || size == 0 {
		return nil, err
	}
	value := make([]byte, size)
	n, err := get(value)
	if err != nil {
		return nil, err
	}
	return value[:n], nil
}
