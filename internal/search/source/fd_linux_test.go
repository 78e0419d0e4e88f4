package source

import (
	"io"

	"golang.org/x/sys/unix"
)

// fd is a file without the poller and the allocation of an os.File.
type fd int

func openFile(name string) (fd, int64, error) {
	f, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	err = unix.Fstat(f, &st)
	return fd(f), st.Size, err
}

func (f fd) ReadAt(p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(int(f), p, off)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (f fd) Close() error { return unix.Close(int(f)) }
