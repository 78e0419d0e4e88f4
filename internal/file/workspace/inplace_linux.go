package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// mounted reports whether the file at name in dir is a mount point, which no rename can
// replace: a file that a container mounts by itself.
func mounted(dir *os.Root, name string) (yes bool) {
	_ = onFolder(dir, func(fd int) error {
		var file, folder unix.Statx_t
		if err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &file); err != nil {
			return err
		}
		if file.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			yes = file.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
			return nil
		}
		// Linux before 5.8
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &folder)
		yes = err == nil && (file.Dev_major != folder.Dev_major || file.Dev_minor != folder.Dev_minor)
		return err
	})
	return yes
}

// openMounted opens a file for reading and writing. It follows no link and does not wait.
func openMounted(dir *os.Root, name string) (file *os.File, err error) {
	err = onFolder(dir, func(fd int) error {
		opened, err := unix.Openat(fd, name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			file = os.NewFile(uintptr(opened), name)
		}
		return err
	})
	return file, err
}
