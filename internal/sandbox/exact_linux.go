package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// exactPaths holds the files of Policy.Exact, each open, so that what takes its
// place on the path meanwhile gets nothing. The descriptor of an absent one is -1.
type exactPaths map[string]int

func openExact(paths []string) (exactPaths, error) {
	e := exactPaths{}
	for _, path := range paths {
		path = filepath.Clean(path)
		fd, err := openUnlinked(path)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES):
			fd = -1
		case err != nil:
			e.close()
			return nil, err
		}
		e[path] = fd
	}
	return e, nil
}

func (e exactPaths) close() {
	for _, fd := range e {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// open opens a path for what is done to it, and follows no link if it is exact.
func (e exactPaths) open(path string) (int, error) {
	if _, ok := e[filepath.Clean(path)]; ok {
		return openUnlinked(path)
	}
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// openUnlinked opens a path that has no link in it. A link is an error.
func openUnlinked(path string) (int, error) {
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening /: %w", err)
	}
	for name := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		if name == "" {
			continue
		}
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("opening %s: %w", path, err)
		}
		at = next
		var st unix.Stat_t
		if err := unix.Fstat(at, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
			unix.Close(at)
			return -1, fmt.Errorf("%s leads through a link now", path)
		}
	}
	return at, nil
}
