package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// overlay mounts an overlay on each folder of Policy.Layered. A folder that cannot
// get one becomes read-only, which the mounter reports.
func (m *mounter) overlay() {
	m.layers = len(m.layered) > 0
	for _, path := range m.layered {
		over := m.stack
		if m.p.ReadOnly {
			over = m.view
		}
		if err := over(path); err != nil {
			m.layers = false
			m.told = append(m.told, fmt.Sprintf("layer %s: %v", path, err))
		}
	}
}

// stack queues an overlay on a folder. Changes below path go to the layer.
func (m *mounter) stack(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	layer := filepath.Join(m.p.Layers[0], layerName(path))
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	if err := errors.Join(os.MkdirAll(upper, 0o700), os.MkdirAll(work, 0o700), os.Chmod(upper, st.Mode().Perm())); err != nil {
		return err
	}
	return m.queueOverlay(path, []string{path}, upper, work)
}

// view queues a read-only overlay on a folder that shows the content of all layers.
func (m *mounter) view(path string) error {
	var lower []string
	for _, layer := range m.p.Layers {
		upper := InLayer(layer, path)
		if holdsEntries(upper) {
			lower = append(lower, upper)
		}
	}
	if len(lower) == 0 {
		return nil
	}
	return m.queueOverlay(path, append(lower, path), "", "")
}

// holdsEntries reports whether a path is a folder with entries.
func holdsEntries(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// queueOverlay makes an overlay and queues it for a path. It refers to the layers
// by descriptors, since paths may contain the separators of mount options.
func (m *mounter) queueOverlay(path string, lower []string, upper, work string) error {
	var open []int
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	named := func(path string) (string, error) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", fmt.Errorf("opening %s: %w", path, err)
		}
		open = append(open, fd)
		return fmt.Sprintf("/proc/self/fd/%d", fd), nil
	}
	config, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("making an overlay: %w", err)
	}
	open = append(open, config)
	for i := range lower {
		if lower[i], err = named(lower[i]); err != nil {
			return err
		}
	}
	// The lower folders change between mounts. Only these plain features allow
	// that.
	options := [][2]string{{"lowerdir", strings.Join(lower, ":")}, {"index", "off"}, {"xino", "off"}, {"metacopy", "off"}}
	if upper != "" {
		for _, o := range [][2]string{{"upperdir", upper}, {"workdir", work}} {
			if o[1], err = named(o[1]); err != nil {
				return err
			}
			options = append(options, o)
		}
	}
	for _, o := range options {
		if err := unix.FsconfigSetString(config, o[0], o[1]); err != nil {
			return fmt.Errorf("making an overlay: %s: %w", o[0], err)
		}
	}
	// Use attributes that every user may set: a layer may be used both as root and
	// as another user.
	if err := unix.FsconfigSetFlag(config, "userxattr"); err != nil {
		return fmt.Errorf("making an overlay: userxattr: %w", err)
	}
	if err := unix.FsconfigCreate(config); err != nil {
		return fmt.Errorf("making an overlay: %w", err)
	}
	attributes := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	var st unix.Statfs_t
	if unix.Statfs(path, &st) == nil && st.Flags&unix.ST_NOEXEC != 0 {
		attributes |= unix.MOUNT_ATTR_NOEXEC
	}
	if upper == "" {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	fd, err := unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return fmt.Errorf("mounting an overlay: %w", err)
	}
	m.pending = append(m.pending, pending{fd, path})
	return nil
}

// split divides the writable folders into those that get an overlay and those that
// stay directly writable. A folder of the second kind inside one of the first is
// returned too, since the overlay would cover it.
func split(write, layered []string) (over, plain []string) {
	over = outermost(layered)
	var rest []string
	for _, path := range write {
		if !slices.Contains(over, path) {
			rest = append(rest, path)
		}
	}
	return over, outermost(rest)
}
