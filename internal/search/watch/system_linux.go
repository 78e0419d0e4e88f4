package watch

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// folderMask omits stores into the files of a folder: watches of the files report
// these. IN_MOVE_SELF is for a folder that is moved away and back, which changes its
// ctime.
const folderMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MOVE_SELF | unix.IN_ATTRIB | unix.IN_ONLYDIR

// fileMask includes IN_CLOSE_WRITE for stores through mappings: the end of the last
// mapping is reported.
const fileMask = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_DONT_FOLLOW

// reporting lists the file systems that report every change, made by anybody, except
// those named in the package comment.
var reporting = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, // and ext2, ext3
	unix.XFS_SUPER_MAGIC:  true, unix.BTRFS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// Reports reports whether the file system of an open folder reports every change. Each
// mount below it must be checked separately.
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

// add adds a watch by descriptor, so that no link or rename can redirect it.
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
	_, _ = unix.InotifyRmWatch(s.fd, uint32(wd)) // fails if the inode is gone
}

// read returns some events, or none if there are none.
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

// next splits off the first of some events, in the form of struct inotify_event: see
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
		e.kind = Ended
	case mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_MOVE_SELF) != 0:
		e.kind = Entries
	case named > 0: // entries of a folder report their attributes themselves
	case mask&unix.IN_ISDIR != 0:
		e.kind = Attributes
	default:
		e.kind = Content
	}
	return e, events[unix.SizeofInotifyEvent+named:]
}

// userLimit returns the limit of watches for all programs of the user together.
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

// mounts holds one descriptor for the whole process, which stays open.
var mounts struct {
	sync.Mutex
	file  *os.File
	count uint64
}

// mountCount returns a number that changes when anything is mounted or unmounted. The
// kernel then makes mountinfo readable out of band, once for each descriptor: see
// proc(5).
func mountCount() (uint64, error) {
	mounts.Lock()
	defer mounts.Unlock()
	if mounts.file == nil {
		// Not os.Open, which adds the descriptor to the poller of the runtime.
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
