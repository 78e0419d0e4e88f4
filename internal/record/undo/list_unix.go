//go:build linux || darwin

package undo

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Commands reports whether changes of commands can be recorded on this system: files need
// inodes and times of change that programs cannot set.
const Commands = true

// lister lists the roots with all that is in them. It follows no links and stays on the file
// systems of the roots.
type lister struct {
	ctx    context.Context
	skip   []string
	slots  chan struct{}
	count  atomic.Int64
	mu     sync.Mutex
	failed error
}

// list returns a listing of the roots. skip lists canonical paths to leave out. old is an earlier
// listing, or nil: the names in folders that are unchanged since are not read again.
func list(ctx context.Context, roots, skip []string, old *tree) (*tree, error) {
	l := &lister{ctx: ctx, skip: skip, slots: make(chan struct{}, copiers)}
	t := new(tree)
	var wait sync.WaitGroup
	for _, root := range roots {
		fd, err := openat(unix.AT_FDCWD, root)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP { // gone, or something else is there
			t.Roots = append(t.Roots, entry{Name: root, Sub: new(dir)})
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "listing", Path: root, Err: err}
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
			return nil, &fs.PathError{Op: "listing", Path: root, Err: err}
		}
		names, files := stamps(fd)
		if !files {
			unix.Close(fd)
			return nil, &fs.PathError{Op: "listing", Path: root, Err: errNoTimes}
		}
		e := entry{Name: root, Sub: new(dir)}
		e.Stamp.from(&st)
		t.Roots = append(t.Roots, e)
		l.read(fd, root, system{e.Stamp.Device, names}, e.Sub, old.root(root), &wait)
	}
	wait.Wait()
	return t, l.failed
}

func openat(parent int, name string) (int, error) {
	for {
		fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (l *lister) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
}

// buffers holds buffers for names.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// names returns the sorted names in a folder. If the folder has changed between the parts in which
// the system returns a large one, a name that was there all the time may be missing, so names
// adds those of further attempts.
func names(fd int) (out []string, err error) {
	for range 4 {
		var before, after unix.Stat_t
		_ = unix.Fstat(fd, &before)
		found, parts, err := namesOnce(fd)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		if parts > 1 {
			_ = unix.Fstat(fd, &after)
		}
		if parts <= 1 || after.Ctim == before.Ctim {
			break
		}
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// namesOnce returns the names in a folder, and the number of parts that they came in.
func namesOnce(fd int) (out []string, parts int, err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := unix.ReadDirent(fd, *buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return out, parts, err
		}
		parts++
		for rest := (*buffer)[:n]; len(rest) > 0; {
			used, _, found := unix.ParseDirent(rest, -1, out)
			if rest, out = rest[used:], found; used == 0 {
				break
			}
		}
	}
}

// system describes the file system of a root.
type system struct {
	device  uint64
	stamped bool // its folders, see stamps
}

// read fills in d, the folder that is open as fd, and closes fd. old is what an earlier listing has
// of it, or nil.
func (l *lister) read(fd int, path string, on system, d, old *dir, wait *sync.WaitGroup) {
	defer unix.Close(fd)
	at := stampNow()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		l.fail(&fs.PathError{Op: "listing", Path: path, Err: err})
		return
	}
	var seen stamp
	seen.from(&st)
	// If one of the names that must be there is not, something else is wrong.
	all := on.stamped && old.has(seen) && l.fill(fd, path, on, d, old.list())
	if !all {
		list, err := names(fd)
		if err != nil && err != unix.ENOENT { // ENOENT: removed after it was opened
			l.fail(&fs.PathError{Op: "listing", Path: path, Err: err})
			return
		}
		d.Entries, d.Hidden = nil, nil
		all = l.fill(fd, path, on, d, list)
	}
	if all && len(d.Hidden) == 0 {
		d.seen, d.at = seen, at
	}
	var before []entry
	if old != nil {
		before = old.Entries
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Stamp.kind() != Folder || e.Stamp.Mode&fs.ModeIrregular != 0 {
			continue
		}
		below, err := openat(fd, e.Name)
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			l.fail(err)
			return
		}
		if err != nil {
			continue // not readable, or gone: Sub stays nil
		}
		e.Sub = new(dir)
		for len(before) > 0 && before[0].Name < e.Name {
			before = before[1:]
		}
		var was *dir
		if len(before) > 0 && before[0].Name == e.Name {
			was = before[0].Sub
		}
		select {
		case l.slots <- struct{}{}:
			wait.Go(func() {
				l.read(below, join(path, e.Name), on, e.Sub, was, wait)
				<-l.slots
			})
		default:
			l.read(below, join(path, e.Name), on, e.Sub, was, wait)
		}
	}
}

// fill adds the entries with the names in list to d. It reports whether all of them are there.
func (l *lister) fill(fd int, path string, on system, d *dir, list []string) (all bool) {
	if l.ctx.Err() != nil {
		l.fail(context.Cause(l.ctx))
		return true
	}
	if l.count.Add(int64(len(list))) > maxEntries {
		l.fail(errTooMany)
		return true
	}
	all = true
	d.Entries = make([]entry, 0, len(list))
	var st unix.Stat_t
	for _, name := range list {
		if skipped(name) {
			d.Hidden = append(d.Hidden, name)
			continue
		}
		if len(l.skip) > 0 && slices.Contains(l.skip, join(path, name)) {
			continue
		}
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err == unix.ENOENT:
			all = false
			continue
		case err != nil:
			d.Entries = append(d.Entries, entry{Name: name, Stamp: stamp{Mode: fs.ModeIrregular}})
			continue
		}
		e := entry{Name: name}
		e.Stamp.from(&st)
		if e.Stamp.Device != on.device {
			e.Stamp.Mode |= fs.ModeIrregular // another file system
		}
		d.Entries = append(d.Entries, e)
	}
	return all
}

func (s *stamp) from(st *unix.Stat_t) {
	*s = stamp{
		Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), Inode: st.Ino, Device: uint64(st.Dev),
		Mode: fs.FileMode(st.Mode) & fs.ModePerm, Links: uint32(st.Nlink), User: st.Uid, Group: st.Gid,
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		s.Mode |= fs.ModeSymlink
	default:
		s.Mode |= fs.ModeIrregular
	}
	mode := uint32(st.Mode)
	if mode&unix.S_ISUID != 0 {
		s.Mode |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		s.Mode |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		s.Mode |= fs.ModeSticky
	}
	if s.kind() != File && s.kind() != Link {
		s.Size = 0
	}
}

// fill sets what only the system knows.
func (s *stamp) fill(sys any) {
	st, ok := sys.(*syscall.Stat_t)
	if !ok {
		return
	}
	s.Changed, s.Inode, s.Device, s.Links, s.User, s.Group = changed(st), st.Ino, uint64(st.Dev), uint32(st.Nlink), st.Uid, st.Gid
}
