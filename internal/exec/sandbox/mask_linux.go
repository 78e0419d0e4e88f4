package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketFolders lists the folders in which services, and all users, create sockets.
// A command can connect to a socket by its path, whatever it may read. So these
// folders are masked, except for the paths in them that the policy grants.
var socketFolders = []string{"/run", "/var/run", "/tmp", "/var/tmp"}

// tempFolders lists the folders for the temporary files of all users.
var tempFolders = []string{"/tmp", "/var/tmp"}

// Names in the file system of masks. The first two have mode 0.
const (
	noFile   = "file"
	noFolder = "folder"
	// hiddenName is the only entry of a mask, for users who can list it.
	hiddenName = "hidden-from-commands"
)

// maskFolders mounts the file system of masks temporarily, and queues copies of the
// paths that stay visible in masked folders. It returns the masks with the folders
// to put them on.
func (m *mounter) maskFolders() (covers []pending, err error) {
	at := m.p.TempDir
	if at == "" {
		at = "/proc"
	}
	if err := unix.Mount("mask", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m"); err != nil {
		return nil, fmt.Errorf("mounting masks: %w", err)
	}
	defer func() {
		// Over TempDir it stays mounted: the writable mount goes on top of it, and
		// an unmount would wait for an RCU grace period of the kernel.
		if err != nil || m.p.TempDir == "" {
			err = errors.Join(err, unix.Unmount(at, unix.MNT_DETACH))
		}
		if err != nil {
			for _, c := range covers {
				unix.Close(c.fd)
			}
		}
	}()
	if err := m.emptyMasks(at); err != nil {
		return nil, fmt.Errorf("making masks: %w", err)
	}
	take := func(from, to string) error {
		fd, err := clone(from)
		if err != nil {
			return err
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
			unix.Close(fd)
			return fmt.Errorf("making masks read-only: %w", err)
		}
		covers = append(covers, pending{fd, to})
		return nil
	}
	for i, folder := range m.covered() {
		mask := filepath.Join(at, strconv.Itoa(i))
		if err := os.Mkdir(mask, 0o755); err != nil {
			return covers, fmt.Errorf("making masks: %w", err)
		}
		if err := m.retain(folder, mask); err != nil {
			return covers, err
		}
		if err := take(mask, folder); err != nil {
			return covers, err
		}
	}
	// Masks of single files and folders are copies of these two.
	for _, name := range []string{noFile, noFolder} {
		if err := take(filepath.Join(at, name), name); err != nil {
			return covers, err
		}
	}
	return covers, nil
}

// emptyMasks makes the masks of single files and folders. With rights over files of
// other users (Policy.FileRights), modes do not apply, and a hidden file would seem
// empty. Then the mask is a device file: on a mount without devices no one can open
// it. The mask of folders contains one.
func (m *mounter) emptyMasks(at string) error {
	file, folder := filepath.Join(at, noFile), filepath.Join(at, noFolder)
	if err := os.Mkdir(folder, 0); err != nil {
		return err
	}
	if m.p.retainedCapabilities(true) != 0 {
		// Every user may make device 0:0 since Linux 5.8.
		if unix.Mknod(file, unix.S_IFCHR, 0) == nil {
			return unix.Mknod(filepath.Join(folder, hiddenName), unix.S_IFCHR, 0)
		}
	}
	return os.WriteFile(file, nil, 0)
}

// covered returns the socket folders to mask: real folders, not links, that the
// policy does not grant.
func (m *mounter) covered() []string {
	var out []string
	for _, folder := range socketFolders {
		if m.p.ReadOnly && !(m.p.PrivateTemp && slices.Contains(tempFolders, folder)) {
			continue // read-only commands cannot use sockets
		}
		st, err := os.Lstat(folder)
		if err != nil || !st.IsDir() || belowAny(folder, m.write) {
			continue
		}
		if slices.Contains(m.read, folder) || strings.HasSuffix(folder, "tmp") && belowAny(folder, m.read) {
			continue
		}
		out = append(out, folder)
	}
	return out
}

// retain queues copies of the paths that stay visible in a masked folder, and makes
// mount points for them in the mask.
func (m *mounter) retain(folder, mask string) error {
	kept := slices.Clone(m.write)
	for _, real := range slices.Concat(m.read, NewResolver().all(m.nameServices())) {
		if !below(real, folder) || real == folder || belowAny(real, kept) {
			continue
		}
		if slices.ContainsFunc(m.pending, func(p pending) bool { return p.path == real }) {
			kept = append(kept, real) // an overlay
			continue
		}
		if err := m.copyOf(real, real, unix.MOUNT_ATTR_RDONLY); err != nil {
			if m.vanished(real, err) {
				continue
			}
			return err
		}
		kept = append(kept, real)
	}
	for _, path := range kept {
		if !below(path, folder) {
			continue
		}
		place := filepath.Join(mask, strings.TrimPrefix(path, folder))
		st, err := os.Lstat(path)
		switch {
		case err != nil && m.vanished(path, err):
			continue
		case err != nil:
			return fmt.Errorf("keeping %s: %w", path, err)
		}
		if st.IsDir() {
			err = os.MkdirAll(place, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(place), 0o755); err == nil {
			err = os.WriteFile(place, nil, 0o644)
		}
		if err != nil {
			return fmt.Errorf("keeping %s: %w", path, err)
		}
	}
	return nil
}

// nameServices returns the paths of /run that are needed to look up host names. It
// returns none without the network of the server: a resolver would send data out in
// the names it is asked for.
func (m *mounter) nameServices() []string {
	if m.p.resolves() {
		return nameServices
	}
	return nil
}

// cover mounts the masks on the socket folders, and stores the two masks for hide.
func (m *mounter) cover(covers []pending) error {
	var errs []error
	for _, c := range covers {
		if c.path == noFile || c.path == noFolder {
			m.masks[c.path] = &mask{fd: c.fd}
			continue
		}
		err := attach(c.fd, c.path)
		if err == nil && m.p.PrivateTemp && slices.Contains(tempFolders, c.path) {
			m.temps = append(m.temps, c.path)
		}
		errs = append(errs, err)
		unix.Close(c.fd)
	}
	return errors.Join(errs...)
}

// mask is a mask for single files or folders.
type mask struct {
	fd int    // open until the first use
	at string // place of the first use, from which further ones are copied
}

// mask masks one file or folder.
func (m *mounter) mask(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	kind := m.masks[noFile]
	if st.IsDir() {
		kind = m.masks[noFolder]
	}
	fd := kind.fd
	if kind.at != "" {
		if fd, err = clone(kind.at); err != nil {
			return err
		}
		defer unix.Close(fd)
	}
	if err := attach(fd, path); err != nil {
		return err
	}
	if kind.at == "" {
		kind.at = path
	}
	return nil
}

// hide mounts masks that no one may open on hidden paths, and on sockets of
// services outside of the masked folders.
func (m *mounter) hide() {
	var hidden []string
	links := NewResolver()
	for _, path := range m.p.Hide {
		if belowAny(filepath.Clean(path), hidden) {
			continue
		}
		real := links.Real(path)
		if real == "" {
			would := path
			if folder := links.Real(filepath.Dir(path)); folder != "" {
				would = filepath.Join(folder, filepath.Base(path))
			}
			if belowAny(would, m.read) || belowAny(would, m.write) {
				m.reportBroken(promiseHide, path, "it does not exist, and a name without a file cannot be masked")
			}
			continue
		}
		if slices.ContainsFunc(m.write, func(w string) bool { return below(w, real) }) {
			// For example a state folder that contains TempDir: Landlock protects
			// the rest.
			if belowAny(real, slices.Concat(m.read, m.write)) {
				m.reportBroken(promiseHide, path, "a writable folder is in it")
			}
			continue
		}
		if slices.Contains(m.temps, real) {
			continue // TempDir comes on top
		}
		m.linked(promiseHide, path, real)
		if m.byLink(path) {
			m.reportBroken(promiseHide, path, "it is reached by a link, which may be replaced")
		}
		m.pin(promiseHide, path, real)
		if err := m.mask(real); err != nil {
			m.reportBroken(promiseHide, path, err.Error())
		}
		hidden = append(hidden, filepath.Clean(path))
	}
	if m.p.ReadOnly {
		return
	}
	for _, path := range listening() {
		if belowAny(path, m.write) {
			continue
		}
		if st, err := os.Lstat(path); err != nil || st.Mode()&os.ModeSocket == 0 {
			continue
		}
		if m.p.resolves() && belowAny(path, nameServices) {
			continue
		}
		if err := m.mask(path); err != nil {
			m.reportBroken(promiseUnix, path, err.Error())
		}
	}
}

// listening returns the paths of the unix sockets of the network namespace of the
// first thread, which is that of the server: only the thread that starts the command
// joins another one. Sockets with paths are reached from all network namespaces.
func listening() []string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// Num RefCount Protocol Flags Type St Inode Path
		_, path, ok := strings.Cut(lines.Text(), " /")
		if !ok {
			continue
		}
		out = append(out, "/"+path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listens reports whether a TCP server of the machine listens on a port, in the network namespace of
// the first thread, as in listening.
func listens(port int) bool {
	local := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			// The columns are: sl local_address rem_address st.
			if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], local) {
				return true
			}
		}
	}
	return false
}
