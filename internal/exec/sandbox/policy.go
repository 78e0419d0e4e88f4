// Package sandbox limits what a command can access. It uses Landlock for files, a
// seccomp filter for system calls, and mounts that make everything else read-only
// and hide secrets. A process applies a Policy to itself, permanently, before it
// starts the command.
//
// Mounts need preparation by the caller. It starts the process that applies the
// policy in new mount, PID and IPC namespaces (CLONE_NEWNS, CLONE_NEWPID,
// CLONE_NEWIPC). Unless it is root, it also uses a new user namespace, with its own
// id mapped and with CAP_SYS_ADMIN and CAP_SETPCAP as ambient capabilities. Layers
// also need CAP_DAC_OVERRIDE, since overlays make a folder with mode 0. It makes
// the mounts private, mounts /proc anew, opens no file for writing before it
// applies the policy, and sets Policy.Outside to the server's own Here(). Without
// all this the other layers still work, and Coverage reports the promises that do
// not hold.
//
// A network namespace is joined by the one thread that Within confines. /proc/net then
// still lists the unix sockets of the server's network, which must be masked.
//
// NotCovered lists the limits that no layer enforces and no canary shows. For
// protected and hidden names, the folders above them up to the writable one become
// mount points. These cannot be renamed or removed (EBUSY), and rename and link
// between them fail with EXDEV, after which programs copy. The bits setuid and
// setgid cannot be set on anything, so a folder cannot get setgid either.
//
// On macOS, which is experimental, the command is started by Launcher, within a profile of
// Seatbelt (seatbelt.go). On other systems Within fails with errors.ErrUnsupported.
//
// # Details
//
// Coverage.Missing names each promise that this kernel or these rights cannot keep;
// canaries try all of them; NotCovered is what nothing keeps. doctor prints both. Before
// Landlock ABI 8 each thread that applies has a domain of its own and could not signal
// the others' children: Within confines one thread and starts the command from it. Names
// that vanish between listing and mounting (mounter.vanished) are left out of the policy,
// which takes rights away and adds none; paths of Policy.Exact must not vanish.
package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Policy describes what a command may access. It is plain data: the server makes
// it, and the process that becomes the command applies it. Paths are absolute.
type Policy struct {
	// ReadOnly makes only TempDir writable. Write is then readable only, there is
	// no network, and no signal reaches another process.
	ReadOnly bool
	// Write lists complete folders, or files, that may be read, changed and
	// executed. Absent paths are ignored: no right can be given to them.
	Write []string
	// Layered lists the folders of Write whose files must not change: the changes
	// of a command go to the layer instead. This needs mounts; then a folder that
	// cannot get a layer is read-only. Without mounts, or without Layers, the
	// folders are writable like the rest of Write.
	Layered []string
	// Layers holds an existing folder for the changes, outside of the policy. Two
	// commands must not use one at the same time: the kernel does not define the
	// result. A ReadOnly command may have any number of layers, the first on top;
	// it sees them but cannot change them.
	Layers []string
	// Read lists complete folders, or files, that may be read and executed.
	Read []string
	// Exact lists the paths of Write, Read and List that must not lead through a
	// link: the command does not start if one does. Other commands may be able to
	// create such links.
	Exact []string
	// List lists folders below which names may be listed at any depth, but no file
	// read.
	List []string
	// Hide lists paths below Read or Write that must not be read. They are masked
	// by a mount, so absent paths cannot be hidden.
	Hide []string
	// Protect lists paths below Write that must not be changed, replaced or moved.
	// They are mounted read-only. Absent paths can be created; the caller must
	// check for them afterwards.
	Protect []string
	// Programs lists programs that others stand for. It needs mounts.
	Programs []Program
	// Instead maps files and folders below Write to what the command sees in their place: a link
	// for a file, and a folder for a folder. It can neither change the path nor replace what is
	// mounted there, but change what the link names, or the folder holds. Where that cannot be
	// mounted, the path is read-only.
	Instead map[string]string
	// TempDir is the command's own folder, always writable; "": none.
	TempDir string
	// PrivateTemp puts TempDir over /tmp and /var/tmp, where programs expect that they may write. It
	// needs mounts. What the policy grants below these folders stays there.
	PrivateTemp bool
	// Network allows internet sockets. It has no effect with ReadOnly.
	Network bool
	// OwnNetwork is set if the command is started in a network namespace of its own,
	// or of its session, with only a loopback interface. Then nothing is confined
	// unless that is so. It does not open sockets: Network does.
	OwnNetwork bool
	// FileRights retains capabilities over files of other users for a root process
	// (CHOWN, DAC_OVERRIDE, FOWNER; DAC_READ_SEARCH if ReadOnly). It is for a
	// server that runs as root on files of another user. It applies only where both
	// Landlock and mounts work; otherwise it is ignored.
	FileRights bool
	// Outside holds the namespaces of the server, which show what namespaces the
	// command has of its own. Empty: none, and nothing is mounted.
	Outside Namespaces
}

// Program is a program that a command does not run directly. Path runs the file By, and
// the program itself is at Kept. All exist; By and Kept are where no command can change them.
// Where By is "", Path stays as it is and is at Kept, too.
type Program struct{ Path, By, Kept string }

// Namespaces identifies the namespaces of a process, or of the calling thread for Net,
// by the links of /proc/self/ns and /proc/thread-self/ns.
type Namespaces struct{ Mount, PID, IPC, Net string }

// Coverage reports which parts of a policy are enforced.
type Coverage struct {
	Landlock  int      // the ABI in use; 0: none
	Seccomp   bool     // whether the filter of system calls is installed
	Layers    bool     // whether each folder of Layered has a layer
	Mounts    bool     // whether the rest of the system is read-only and masks are mounted
	Terminals bool     // whether /dev/pts holds only terminals that the command makes
	Seatbelt  bool     // whether a profile of Seatbelt confines the command; Launcher applies it
	Missing   []string // promises that do not hold here, each "name: reason"
}

// Masks reports whether what a policy hides in a readable folder cannot be read.
func (c Coverage) Masks() bool { return c.Mounts || c.Seatbelt }

// writable returns the paths of the policy that a command may change.
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

// readable returns the paths of the policy that a command may read and not change.
func (p Policy) readable() []string {
	if p.ReadOnly {
		return append(slices.Clone(p.Read), p.Write...)
	}
	return p.Read
}

// Unreadable returns those of some paths, whose links are resolved, that a command cannot read. It
// ignores empty paths.
func (p Policy) Unreadable(paths []string) map[string]bool {
	j, out := newJudge(p), map[string]bool{}
	for _, path := range paths {
		if path != "" && (belowAny(path, j.hide) || !belowAny(path, j.read) && !belowAny(path, j.write)) {
			out[path] = true
		}
	}
	return out
}

// layered returns the folders that get an overlay.
func (p Policy) layered() []string {
	if len(p.Layers) == 0 {
		return nil
	}
	return p.Layered
}

func (p Policy) online() bool { return p.Network && !p.ReadOnly }

// resolves reports whether a command may ask the name services of the system. In a
// network of its own it may not: names that it asks for would leave the machine.
func (p Policy) resolves() bool { return p.online() && !p.OwnNetwork }

// check returns an error for a policy that is certainly a mistake.
func (p Policy) check() error {
	all := slices.Concat(p.Write, p.Read, p.List, p.Hide, p.Protect, p.Layered, p.Layers, p.Exact)
	if p.TempDir != "" {
		all = append(all, p.TempDir)
	}
	for path, other := range p.Instead {
		all = append(all, path, other)
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

// below reports whether a path equals a folder or is in it. Both must be clean.
func below(path, folder string) bool {
	return folder == "/" || strings.HasPrefix(path, folder) && (len(path) == len(folder) || path[len(folder)] == '/')
}

// belowAny reports whether a path equals one of the folders or is in one.
func belowAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(path, f) })
}
