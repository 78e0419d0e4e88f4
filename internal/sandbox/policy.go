// Package sandbox contains what a command may touch: Landlock for files, a
// seccomp filter for system calls, and mounts that make everything else
// read-only and hide what must not be read. A process applies a Policy to
// itself, for good, before it starts the command.
//
// What a caller has to do for mounts to be had: start the process that applies
// in new mount, PID and IPC namespaces (CLONE_NEWNS, CLONE_NEWPID,
// CLONE_NEWIPC), and unless root in a new user namespace with its own id mapped
// and CAP_SYS_ADMIN and CAP_SETPCAP as ambient capabilities, and for layers
// CAP_DAC_OVERRIDE, since overlays make a folder without any mode; make the mounts
// private and mount /proc anew there; open no file for writing before it
// applies; and put the server's own Here() into Policy.Outside. Without these
// the rest still holds, and Coverage says what does not.
//
// What no layer holds, and no canary shows, is NotCovered. Protected and hidden
// names make mounts of the folders above them up to the writable one: these
// cannot be renamed or removed (EBUSY), and rename and link between them fail
// with EXDEV, upon which programs copy. The bits setuid and setgid cannot be set
// on anything, so neither on a folder for its group.
//
// Linux only. Elsewhere Within fails with errors.ErrUnsupported.
package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Policy is what a command may touch. It is plain data: the server makes it,
// the process that is to become the command applies it. Paths are absolute.
type Policy struct {
	// ReadOnly makes nothing writable but TempDir: Write is readable only,
	// there is no network, and no signal reaches another process.
	ReadOnly bool
	// Write is what may be read, changed and run: folders whole, or files.
	// What is absent is left out: no right can be given to it.
	Write []string
	// Layered is the folders of Write whose files stay as they are: what a
	// command changes in one goes to the layer. It needs mounts; a folder that
	// cannot have a layer is read-only then. Without mounts, or without Layers,
	// it is as the rest of Write.
	Layered []string
	// Layers is an existing folder for what is changed, outside of the policy.
	// The kernel does not define what two commands do with one at a time. A
	// ReadOnly command has any number of them, the first on top, and sees them.
	Layers []string
	// Read is what may be read and run: folders whole, or files.
	Read []string
	// Exact is those paths of Write, Read and List that count as they are written: the
	// command does not start if one leads through a link. Other commands may be
	// able to put one there.
	Exact []string
	// List is folders below which names may be listed, at any depth, but no
	// file read.
	List []string
	// Hide is what must not be read although it is below Read or Write. A mask
	// is mounted on it, so what is absent cannot be hidden.
	Hide []string
	// Protect is what must not be changed, replaced or moved although it is
	// below Write. It is mounted read-only; what is absent can be made, and
	// the caller has to look afterwards.
	Protect []string
	// TempDir is the command's own folder, always writable. May be empty.
	TempDir string
	// Network allows internet sockets. Not with ReadOnly.
	Network bool
	// FileRights leaves a root process the capabilities over other people's
	// files (CHOWN, DAC_OVERRIDE, FOWNER; DAC_READ_SEARCH if ReadOnly), for a
	// server that runs as root on files of somebody else. It holds only where
	// Landlock and mounts both do; otherwise it is ignored.
	FileRights bool
	// Outside is where the server is, by which is known which namespaces
	// are the command's own. Empty: none is, and nothing is mounted.
	Outside Namespaces
}

// Namespaces names the namespaces of a process, as the links of
// /proc/self/ns do.
type Namespaces struct{ Mount, PID, IPC string }

// Coverage is what holds of a policy.
type Coverage struct {
	Landlock int      // the ABI in force, 0 for none
	Seccomp  bool     // the filter of system calls is in force
	Layers   bool     // each of Layered has a layer
	Mounts   bool     // the rest of the system is read-only and masks are mounted
	Missing  []string // promises that are not kept here, each "name: reason"
}

// writable is the parts of the policy that a command may change.
func (p Policy) writable() []string {
	w := []string{}
	if !p.ReadOnly {
		w = append(w, p.Write...)
	}
	if p.TempDir != "" {
		w = append(w, p.TempDir)
	}
	return w
}

// readable is the parts of the policy that a command may read and not change.
func (p Policy) readable() []string {
	if p.ReadOnly {
		return append(slices.Clone(p.Read), p.Write...)
	}
	return p.Read
}

// layered is the folders that get an overlay.
func (p Policy) layered() []string {
	if len(p.Layers) == 0 {
		return nil
	}
	return p.Layered
}

func (p Policy) online() bool { return p.Network && !p.ReadOnly }

// check refuses a policy that cannot mean what its maker thinks.
func (p Policy) check() error {
	all := slices.Concat(p.Write, p.Read, p.List, p.Hide, p.Protect, p.Layered, p.Layers, p.Exact)
	if p.TempDir != "" {
		all = append(all, p.TempDir)
	}
	for _, path := range all {
		if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			return fmt.Errorf("sandbox: %q is not an absolute path", path)
		}
	}
	for _, path := range p.writable() {
		if filepath.Clean(path) == "/" {
			return fmt.Errorf("sandbox: / cannot be made writable")
		}
	}
	return nil
}

// below reports whether a path is a folder or in it. Both are clean.
func below(path, folder string) bool {
	return folder == "/" || strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}

// belowAny reports whether a path is one of the folders or in one.
func belowAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(path, f) })
}
