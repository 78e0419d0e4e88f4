package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// exactPaths maps the paths of Policy.Exact to open descriptors, so that a file
// that replaces one meanwhile gets no rights. The descriptor of an absent file is
// -1.
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

// open opens a path to apply rights or mounts to it. It follows no link if the path
// is exact.
func (e exactPaths) open(path string) (int, error) {
	if _, ok := e[filepath.Clean(path)]; ok {
		return openUnlinked(path)
	}
	return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

// openUnlinked opens a path. It fails if any element of the path is a link.
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
