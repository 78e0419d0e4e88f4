package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// switches turns off layers, for tests of the remaining ones.
type switches struct {
	NoLandlock, NoSeccomp, NoMounts bool
	ABI                             int // highest Landlock ABI to use; 0: no limit
}

// Within calls join on one thread of this process, confines the thread permanently
// and calls start on it. join moves the thread into the network of the command; nil:
// it stays in that of the server. start starts the command; os/exec does so from the
// calling thread. Within fails only if the policy cannot work; Coverage reports what
// the kernel does not offer.
//
// The other threads are not confined, so they can end the command. A confined
// thread could not do that before Landlock ABI 8, since each thread has a domain of
// its own. The command can neither signal nor trace this process. Mounts apply to
// the whole process. The thread lives until the process ends, so the command's
// parent-death signal comes with the end of the process.
func Within(p Policy, join func() error, start func(Coverage) error) error {
	return within(p, switches{}, join, start)
}

func within(p Policy, s switches, join func() error, start func(Coverage) error) error {
	done := make(chan error)
	go onThread(done, func() error {
		if join != nil {
			if err := join(); err != nil {
				return err
			}
		}
		c, err := apply(p, s)
		if err != nil {
			return err
		}
		return start(c)
	})
	return <-done
}

// onThread calls f on a thread of its own, which lives on afterwards. It never uses
// the first thread of the process, since the kernel decides by that thread's
// credentials who may signal the process.
func onThread(done chan<- error, f func() error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go onThread(done, f)
	} else {
		done <- f()
	}
	select {}
}

func apply(p Policy, s switches) (Coverage, error) {
	if err := p.check(); err != nil {
		return Coverage{}, err
	}
	runtime.LockOSThread() // never unlocked: this thread now differs from the others
	here := CurrentNamespaces()
	l := layers{
		readOnly: p.ReadOnly, online: p.online(),
		pid: own(here.PID, p.Outside.PID), ipc: own(here.IPC, p.Outside.IPC),
		net: p.OwnNetwork,
	}
	if p.OwnNetwork && !own(here.Net, p.Outside.Net) {
		return Coverage{}, errors.New("sandbox: the command has no network of its own")
	}
	exact, err := openExact(p.Exact)
	if err != nil {
		return Coverage{}, fmt.Errorf("sandbox: %w", err)
	}
	defer exact.close()
	var notes []string
	layered := false
	if own(here.Mount, p.Outside.Mount) && !s.NoMounts {
		m, err := mountAll(p, exact)
		var off *mountsOff
		switch {
		case errors.As(err, &off):
			notes = append(notes, "mounts: "+off.Error())
		case err != nil:
			return Coverage{}, err
		default:
			l.mounts, l.terminals = true, m.terminals
			layered = m.layers
			notes = append(notes, m.told...)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return Coverage{}, fmt.Errorf("sandbox: no_new_privs: %w", err)
	}
	// The command can neither attach to this process nor read its environment.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)

	abi := 0
	if !s.NoLandlock {
		abi = landlockABI()
		if s.ABI > 0 {
			abi = min(abi, s.ABI)
		}
	}
	if err := dropCapabilities(p.retainedCapabilities(l.mounts && abi >= 3)); err != nil {
		notes = append(notes, promisePrivilege+": "+err.Error())
	} else {
		l.capless = true
	}
	if abi > 0 {
		if err := restrict(p, abi, l, exact); err != nil {
			return Coverage{}, fmt.Errorf("sandbox: landlock: %w", err)
		}
		l.abi = abi
	}
	if !s.NoSeccomp {
		switch err := loadFilter(p, l); {
		case err == nil:
			l.seccomp = true
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported):
			notes = append(notes, "seccomp: "+err.Error())
		default:
			return Coverage{}, fmt.Errorf("sandbox: seccomp: %w", err)
		}
	}
	return Coverage{
		Landlock: l.abi, Seccomp: l.seccomp, Mounts: l.mounts, Layers: layered, Terminals: l.terminals,
		Missing: append(missing(l), notes...),
	}, nil
}

// Launcher returns nothing: Within confines the command.
func Launcher(Policy) []string { return nil }

// systemLimits are the limits that only this system has.
var systemLimits = []string{
	"a name is masked as the file it is when a command starts: if a process outside replaces that file meanwhile, the new one is not masked",
	"a socket that a service binds later, or bound by a relative path, can be reached outside of /run, /tmp and /var/tmp (before Landlock ABI 9)",
}

// CurrentNamespaces returns the namespaces of this process, for Policy.Outside.
func CurrentNamespaces() Namespaces {
	read := func(link string) string {
		name, _ := os.Readlink("/proc/" + link)
		return name
	}
	return Namespaces{Mount: read("self/ns/mnt"), PID: read("self/ns/pid"), IPC: read("self/ns/ipc"), Net: read("thread-self/ns/net")}
}

// own reports whether the command has a namespace of its own. It returns false if
// either namespace is unknown.
func own(here, outside string) bool { return here != "" && outside != "" && here != outside }

// landlockABI returns the version of Landlock to use: the lower of the kernel's and
// the highest known here. It returns 0 if there is none.
func landlockABI() int {
	const known = 11
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 0 {
		return 0
	}
	return min(abi, known)
}

// Supported reports whether this system may be able to confine commands.
const Supported = true
