package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// sharedMemory is where a private file system is mounted for POSIX shared
// memory and semaphores.
const sharedMemory = "/dev/shm"

// nameServices is what looking up host names needs below /run: files and
// sockets of the resolver and the name cache.
var nameServices = []string{"/run/systemd/resolve", "/run/nscd"}

// mountsOff says that mounts cannot be had, and that nothing was mounted.
type mountsOff struct{ err error }

func (m *mountsOff) Error() string { return m.err.Error() }
func (m *mountsOff) Unwrap() error { return m.err }

// mounter lays a policy out in a mount namespace of our own.
type mounter struct {
	p       Policy
	write   []string // outermost folders that stay writable, links followed
	read    []string // what may be read, links followed
	exact   exactPaths
	masks   map[string]*mask
	told    []string
	pending []pending
	layered []string // folders that get an overlay, links followed
	layers  bool     // each of them did
	// terminals says that those at /dev/pts are the command's own.
	terminals bool
}

// pending is a mount that has been made and has to be put in its place.
type pending struct {
	fd   int
	path string
}

// mountAll makes the whole system read-only but for the writable folders, and
// masks what is hidden. The mounter tells what it could not do. The error is a
// mountsOff if nothing was done; after any other the namespace is left half made.
//
// The order matters. What stays writable is copied while it is writable, then
// everything becomes read-only at once, then the copies are put over it. Masks
// come last, since each is looked for where everything else is in place.
func mountAll(p Policy, exact exactPaths) (*mounter, error) {
	if !has(unix.CAP_SYS_ADMIN) {
		return nil, &mountsOff{errors.New("CAP_SYS_ADMIN is missing")}
	}
	links := NewResolver()
	links.exact = exact
	m := &mounter{p: p, exact: exact, write: outermost(links.all(p.writable())), read: links.all(p.readable()), masks: map[string]*mask{}}
	defer m.close()
	// Nothing mounted here is seen elsewhere, nor the other way round.
	private := unix.MountAttr{Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &private); err != nil {
		return nil, &mountsOff{fmt.Errorf("making mounts private: %w", err)}
	}
	layered, plain := split(links.all(p.writable()), links.all(p.layered()))
	m.layered = layered
	m.overlay()
	for _, path := range plain {
		if err := m.copyOf(path, path, 0); err != nil && !m.vanished(path, err) {
			return nil, &mountsOff{err}
		}
	}
	masks, err := m.maskFolders()
	if err != nil {
		return nil, &mountsOff{err}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &readOnly); err != nil {
		return nil, &mountsOff{fmt.Errorf("making the system read-only: %w", err)}
	}
	// From here on a failure cannot be taken back.
	if err := errors.Join(m.cover(masks), m.place(m.vanished), m.shared()); err != nil {
		return nil, fmt.Errorf("sandbox: mounting: %w", err)
	}
	m.ownTerminals()
	m.protect()
	m.hide()
	// The working directory is still that of the mount underneath.
	if wd, err := os.Getwd(); err == nil {
		_ = os.Chdir(wd)
	}
	return m, nil
}

// outermost is the paths without those inside others, in order.
func outermost(paths []string) []string {
	paths = slices.Sorted(slices.Values(paths))
	var out []string
	for _, path := range paths {
		// In this order nothing comes between a folder and what is in it but
		// names like "folder-", so the last one alone would not do.
		if !belowAny(path, out) {
			out = append(out, path)
		}
	}
	return out
}

// clone makes a copy of the mounts at a path, not yet anywhere.
func clone(path string) (int, error) {
	return cloneAt(unix.AT_FDCWD, path, path)
}

// cloneAt makes a copy of the mounts at a path from an open folder, or of those
// at the folder itself. Shown is its name in errors.
func cloneAt(dir int, path, shown string) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	fd, err := unix.OpenTree(dir, path, flags)
	if err != nil {
		return -1, fmt.Errorf("copying the mount of %s: %w", shown, err)
	}
	return fd, nil
}

// copyOf queues a copy of the mounts at one path for another, with attributes
// added.
func (m *mounter) copyOf(from, to string, attributes uint64) error {
	var fd int
	var err error
	if open, ok := m.exact[from]; ok && open >= 0 {
		fd, err = cloneAt(open, "", from)
	} else {
		fd, err = clone(from)
	}
	if err != nil {
		return err
	}
	if attributes != 0 {
		attr := unix.MountAttr{Attr_set: attributes}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
			unix.Close(fd)
			return fmt.Errorf("making the mount of %s read-only: %w", from, err)
		}
	}
	m.pending = append(m.pending, pending{fd, to})
	return nil
}

// vanished reports whether an error means that a path has been removed since it was
// listed: names in a home folder come and go. The command then gets no right to it,
// as for any name that appears later. A path of Policy.Exact must not vanish.
func (m *mounter) vanished(path string, err error) bool {
	_, exact := m.exact[path]
	return !exact && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR))
}

// place puts what is queued in its place, outer before inner. Errors that ignore
// accepts are left out.
func (m *mounter) place(ignore func(path string, err error) bool) error {
	slices.SortStableFunc(m.pending, func(a, b pending) int { return cmp.Compare(a.path, b.path) })
	var errs []error
	for _, p := range m.pending {
		if err := m.attach(p.fd, p.path); err != nil && !ignore(p.path, err) {
			errs = append(errs, err)
		}
		unix.Close(p.fd)
	}
	m.pending = nil
	return errors.Join(errs...)
}

func (m *mounter) close() {
	for _, p := range m.pending {
		unix.Close(p.fd)
	}
	for _, k := range m.masks {
		unix.Close(k.fd)
	}
}

// attach puts a mount in its place, through no link if that is exact.
func (m *mounter) attach(fd int, path string) error {
	if _, ok := m.exact[path]; !ok {
		return attach(fd, path)
	}
	place, err := openUnlinked(path)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	if err := unix.MoveMount(fd, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting on %s: %w", path, err)
	}
	return nil
}

func attach(fd int, path string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting on %s: %w", path, err)
	}
	return nil
}

// shared mounts private shared memory, which tools with several processes need.
func (m *mounter) shared() error {
	if m.p.ReadOnly || belowAny(sharedMemory, m.write) {
		return nil
	}
	if st, err := os.Lstat(sharedMemory); err != nil || !st.IsDir() {
		return nil
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if err := unix.Mount("shm", sharedMemory, "tmpfs", flags, "mode=1777,size=512m"); err != nil {
		return fmt.Errorf("mounting on %s: %w", sharedMemory, err)
	}
	return nil
}

// protect makes what must not be changed read-only.
func (m *mounter) protect() {
	for _, path := range m.p.Protect {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			m.unkept(promiseProtect, path, "it does not exist, and a name without a file cannot be masked")
			continue
		}
		if real != resolveFolder(path) {
			m.unkept(promiseProtect, path, "it is a link, which may be replaced")
		}
		if !belowAny(real, m.write) {
			continue // read-only already
		}
		m.linked(promiseProtect, path, real)
		m.pin(promiseProtect, path, real)
		if err := m.over(real, unix.MOUNT_ATTR_RDONLY); err != nil {
			m.unkept(promiseProtect, path, err.Error())
		}
	}
}

// pin makes mounts of the folders above a path, up to the writable one. A mount
// cannot be renamed, so the name cannot be moved with a folder, to be made anew
// or, in the next command, to be found where nothing is masked.
func (m *mounter) pin(promise, path, real string) {
	i := slices.IndexFunc(m.write, func(w string) bool { return below(real, w) })
	if i < 0 {
		return // nothing above it can be renamed
	}
	for _, folder := range between(m.write[i], real) {
		if mounted(folder) {
			continue
		}
		if err := m.over(folder, 0); err != nil {
			m.unkept(promise, path, err.Error())
		}
	}
}

// over mounts a path on itself with attributes added.
func (m *mounter) over(path string, attributes uint64) error {
	if err := m.copyOf(path, path, attributes); err != nil {
		return err
	}
	return m.place(func(string, error) bool { return false })
}

// between lists the folders strictly between a folder and a path below it.
func between(folder, path string) []string {
	var out []string
	for at := filepath.Dir(path); len(at) > len(folder); at = filepath.Dir(at) {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// mounted reports whether a path is where something is mounted.
func mounted(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st)
	return err == nil && st.Attributes_mask&st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// resolveFolder follows the links of the folder a path is in, not the path's
// own.
func resolveFolder(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// byLink reports whether a path leads through a link that the command can
// replace: the next one is then led elsewhere, and masks that.
func (m *mounter) byLink(path string) bool {
	for at := filepath.Clean(path); at != "/"; at = filepath.Dir(at) {
		st, err := os.Lstat(at)
		if err == nil && st.Mode()&os.ModeSymlink != 0 && belowAny(resolveFolder(at), m.write) {
			return true
		}
	}
	return false
}

// linked tells of other names of a file that a mask does not reach.
func (m *mounter) linked(promise, path, real string) {
	var st unix.Stat_t
	if unix.Lstat(real, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
		m.unkept(promise, path, "the file has other names (hard links)")
	}
}

func (m *mounter) unkept(promise, path, why string) {
	m.told = append(m.told, fmt.Sprintf("%s %s: %s", promise, path, why))
}
