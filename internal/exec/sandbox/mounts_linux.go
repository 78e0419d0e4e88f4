package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// sharedMemory is the mount point of a private file system for POSIX shared memory
// and semaphores.
const sharedMemory = "/dev/shm"

// nameServices lists the paths below /run that are needed to look up host names:
// files and sockets of the resolver and the name cache.
var nameServices = []string{"/run/systemd/resolve", "/run/nscd"}

// mountsOff is the error if mounts are not possible and nothing was mounted.
type mountsOff struct{ err error }

func (m *mountsOff) Error() string { return m.err.Error() }
func (m *mountsOff) Unwrap() error { return m.err }

// mounter applies a policy in a mount namespace of our own.
type mounter struct {
	p       Policy
	write   []string // outermost writable folders, links resolved
	read    []string // readable paths, links resolved
	exact   exactPaths
	masks   map[string]*mask
	told    []string
	pending []pending
	layered []string // folders that get an overlay, links resolved
	layers  bool     // whether each of them got one
	temps   []string // masked folders that get TempDir
	// terminals reports that /dev/pts holds the command's own terminals only.
	terminals bool
}

// pending is a detached mount with the path to attach it to.
type pending struct {
	fd   int
	path string
}

// mountAll makes the whole system read-only except for the writable folders, and
// masks hidden paths. The mounter reports the steps that failed. The error is a
// mountsOff if nothing was mounted; after any other error the namespace is in an
// undefined state.
//
// The order matters. Writable paths are copied while they are writable. Then
// everything becomes read-only at once, and the copies are mounted on top. Masks
// come last, since their paths are looked up with everything else in place.
func mountAll(p Policy, exact exactPaths) (*mounter, error) {
	if !hasCapability(unix.CAP_SYS_ADMIN) {
		return nil, &mountsOff{errors.New("CAP_SYS_ADMIN is missing")}
	}
	links := NewResolver()
	links.exact = exact
	m := &mounter{p: p, exact: exact, write: outermost(links.all(p.writable())), read: links.all(p.readable()), masks: map[string]*mask{}}
	defer m.close()
	// No mount propagates from or to another namespace.
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
	// A failure after this point cannot be undone.
	if err := errors.Join(m.cover(masks), m.place(m.vanished), m.shared()); err != nil {
		return nil, fmt.Errorf("sandbox: mounting: %w", err)
	}
	m.ownTerminals()
	m.protect()
	m.replace()
	m.hide()
	if err := m.programs(); err != nil {
		return nil, fmt.Errorf("sandbox: mounting: %w", err)
	}
	for _, folder := range m.temps {
		if err := m.privateTemp(folder); err != nil {
			return nil, fmt.Errorf("sandbox: mounting: %w", err)
		}
	}
	// Enter the new mount: the working directory still refers to the one
	// underneath.
	if wd, err := os.Getwd(); err == nil {
		_ = os.Chdir(wd)
	}
	return m, nil
}

// outermost returns the paths that are not inside others, sorted.
func outermost(paths []string) []string {
	paths = slices.Sorted(slices.Values(paths))
	var out []string
	for _, path := range paths {
		// A folder and its content are not always neighbours in this order: names
		// like "folder-" sort between them. So comparing with the last one is not
		// enough.
		if !belowAny(path, out) {
			out = append(out, path)
		}
	}
	return out
}

// clone returns a detached copy of the mounts at a path.
func clone(path string) (int, error) {
	return cloneAt(unix.AT_FDCWD, path, path)
}

// cloneAt returns a detached copy of the mounts at a path relative to an open
// folder, or at the folder itself if path is "". shown is the name for errors. more
// are further flags.
func cloneAt(dir int, path, shown string, more ...uint) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	for _, flag := range more {
		flags |= flag
	}
	fd, err := unix.OpenTree(dir, path, flags)
	if err != nil {
		return -1, fmt.Errorf("copying the mount of %s: %w", shown, err)
	}
	return fd, nil
}

// copyOf queues a copy of the mounts at one path for another path, with additional
// attributes.
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

// vanished reports whether an error means that a path was removed after it was
// listed: names in a home folder come and go. The command gets no right to it, as
// to any name that appears later. A path of Policy.Exact must not vanish.
func (m *mounter) vanished(path string, err error) bool {
	_, exact := m.exact[path]
	return !exact && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR))
}

// place attaches the queued mounts, outer ones first. It omits errors that ignore
// accepts.
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

// attach attaches a mount. If the path is exact, it follows no link.
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

// replace mounts links and folders in the place of others. Where that fails, the path becomes
// read-only. It comes after protect, which would make them read-only, too.
func (m *mounter) replace() {
	for _, path := range slices.Sorted(maps.Keys(m.p.Instead)) {
		if !belowAny(path, m.write) {
			continue // already read-only
		}
		m.pin(promiseProtect, path, path)
		fd, err := cloneAt(unix.AT_FDCWD, m.p.Instead[path], m.p.Instead[path], unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			err = attach(fd, path)
			unix.Close(fd)
		}
		if err == nil {
			continue
		}
		if err := m.over(path, unix.MOUNT_ATTR_RDONLY); err != nil {
			m.reportBroken(promiseProtect, path, err.Error())
		}
	}
}

// protect makes protected paths read-only.
func (m *mounter) protect() {
	for _, path := range m.p.Protect {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			m.reportBroken(promiseProtect, path, "it does not exist, and a name without a file cannot be masked")
			continue
		}
		if real != resolveFolder(path) {
			m.reportBroken(promiseProtect, path, "it is a link, which may be replaced")
		}
		if !belowAny(real, m.write) {
			continue // already read-only
		}
		m.linked(promiseProtect, path, real)
		m.pin(promiseProtect, path, real)
		if err := m.over(real, unix.MOUNT_ATTR_RDONLY); err != nil {
			m.reportBroken(promiseProtect, path, err.Error())
		}
	}
}

// programs mounts what stands for programs.
func (m *mounter) programs() error {
	for _, p := range m.p.Programs {
		if err := m.copyOf(p.Path, p.Kept, unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	none := func(string, error) bool { return false }
	if err := m.place(none); err != nil {
		return err
	}
	for _, p := range m.p.Programs {
		if p.By == "" {
			continue
		}
		if err := m.copyOf(p.By, p.Path, unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	return m.place(none)
}

// pin mounts the folders above a path on themselves, up to the writable folder. A
// mount point cannot be renamed. So a command cannot move the name away with its
// folder, in order to make it anew, or to access it in the next command at a place
// that is not masked.
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
			m.reportBroken(promise, path, err.Error())
		}
	}
}

// over mounts a path on itself with additional attributes.
func (m *mounter) over(path string, attributes uint64) error {
	if err := m.copyOf(path, path, attributes); err != nil {
		return err
	}
	return m.place(func(string, error) bool { return false })
}

// between returns the folders strictly between a folder and a path below it,
// outermost first.
func between(folder, path string) []string {
	var out []string
	for at := filepath.Dir(path); len(at) > len(folder); at = filepath.Dir(at) {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// mounted reports whether a path is a mount point.
func mounted(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st)
	return err == nil && st.Attributes_mask&st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// resolveFolder resolves the links of the path's folder, but not the path itself.
func resolveFolder(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// byLink reports whether a path leads through a link that the command can replace.
// A later command would then mask the new target.
func (m *mounter) byLink(path string) bool {
	for at := filepath.Clean(path); at != "/"; at = filepath.Dir(at) {
		st, err := os.Lstat(at)
		if err == nil && st.Mode()&os.ModeSymlink != 0 && belowAny(resolveFolder(at), m.write) {
			return true
		}
	}
	return false
}

// linked reports hard links of a file, which its mask does not cover.
func (m *mounter) linked(promise, path, real string) {
	var st unix.Stat_t
	if unix.Lstat(real, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
		m.reportBroken(promise, path, "the file has other names (hard links)")
	}
}

func (m *mounter) reportBroken(promise, path, why string) {
	m.told = append(m.told, fmt.Sprintf("%s %s: %s", promise, path, why))
}
