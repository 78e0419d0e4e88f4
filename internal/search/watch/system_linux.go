package watch

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// folderMask leaves out stores into the files of a folder: these are told of
// the files. IN_MOVE_SELF is for a folder moved away and back, which gets
// another ctime.
const folderMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MOVE_SELF | unix.IN_ATTRIB | unix.IN_ONLYDIR

// fileMask has IN_CLOSE_WRITE for stores through mappings: the end of the
// last one is told.
const fileMask = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_DONT_FOLLOW

// reporting are the file systems that tell of every change but those named in
// the package comment, whoever makes it.
var reporting = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, // and ext2, ext3
	unix.XFS_SUPER_MAGIC:  true, unix.BTRFS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// Reports says whether the file system of an open folder is one that tells of
// every change. Each mount below has its own.
func Reports(fd int) bool {
	var fs unix.Statfs_t
	for {
		err := unix.Fstatfs(fd, &fs)
		if err == nil {
			return reporting[int64(fs.Type)]
		}
		if err != unix.EINTR {
			return false
		}
	}
}

// system is an inotify descriptor.
type system struct{ fd int }

func open() (system, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	return system{fd}, err
}

func (s system) close() error { return unix.Close(s.fd) }

// add goes by descriptor, so that nobody leads it elsewhere.
func (s system) add(fd int, name string) (int32, error) {
	path, mask := "/proc/self/fd/"+strconv.Itoa(fd), uint32(folderMask)
	if name != "" {
		path, mask = path+"/"+name, fileMask
	}
	for {
		wd, err := unix.InotifyAddWatch(s.fd, path, mask)
		switch err {
		case unix.EINTR:
		case unix.ENOSPC:
			return 0, ErrFull
		default:
			return int32(wd), err
		}
	}
}

func (s system) remove(wd int32) {
	_, _ = unix.InotifyRmWatch(s.fd, uint32(wd)) // fails for what is gone
}

// read gives some events, or none if there are none.
func (s system) read(buf []byte) ([]byte, error) {
	for {
		n, err := unix.Read(s.fd, buf)
		switch {
		case err == unix.EAGAIN:
			return nil, nil
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		default:
			return buf[:n], nil
		}
	}
}

// next takes the first of some events, which are in struct inotify_event: see
// inotify(7).
func next(events []byte) (event, []byte) {
	wd := int32(binary.NativeEndian.Uint32(events))
	mask := binary.NativeEndian.Uint32(events[4:])
	named := binary.NativeEndian.Uint32(events[12:])
	e := event{wd: wd}
	switch {
	case mask&(unix.IN_Q_OVERFLOW|unix.IN_UNMOUNT) != 0:
		e.lost = true
	case mask&unix.IN_IGNORED != 0:
		e.what = Ended
	case mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_MOVE_SELF) != 0:
		e.what = Entries
	case named > 0: // what is in a folder tells of its attributes itself
	case mask&unix.IN_ISDIR != 0:
		e.what = Attributes
	default:
		e.what = Content
	}
	return e, events[unix.SizeofInotifyEvent+named:]
}

// userLimit is how many watches all programs of the user may have together.
func userLimit() int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return MaxWatches
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(data)))
	if err != nil {
		return MaxWatches
	}
	return n
}

// mounts is one descriptor for the whole process, which stays open.
var mounts struct {
	sync.Mutex
	file  *os.File
	count uint64
}

// mountCount changes when anything was mounted or unmounted: the kernel makes
// mountinfo readable out of band, once for each descriptor; see proc(5).
func mountCount() (uint64, error) {
	mounts.Lock()
	defer mounts.Unlock()
	if mounts.file == nil {
		// Not os.Open, which would have the runtime poll it too.
		fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		mounts.file = os.NewFile(uintptr(fd), "mountinfo")
	}
	poll := []unix.PollFd{{Fd: int32(mounts.file.Fd()), Events: unix.POLLPRI}}
	for {
		_, err := unix.Poll(poll, 0)
		if err == unix.EINTR {
			continue
		}
		if err == nil && poll[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0 {
			mounts.count++
		}
		return mounts.count, err
	}
}
