package sandbox

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	readFile = ll.AccessFSExecute | ll.AccessFSReadFile
	readAll  = readFile | ll.AccessFSReadDir
	useFile  = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// handled returns the file access rights that an ABI can restrict.
func handled(abi int) uint64 {
	fs := uint64(ll.AccessFSRefer - 1)
	for _, a := range []struct{ abi, right uint64 }{
		{2, ll.AccessFSRefer}, {3, ll.AccessFSTruncate}, {5, ll.AccessFSIoctlDev}, {9, ll.AccessFSResolveUnix},
	} {
		if uint64(abi) >= a.abi {
			fs |= a.right
		}
	}
	return fs
}

// devices lists the device files that every program may use. /dev/tty is not one of
// them: the user's typed input is not for commands.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// rulesetAttr returns the parts of the policy that an ABI can restrict.
func rulesetAttr(p Policy, abi int) ll.RulesetAttr {
	attr := ll.RulesetAttr{HandledAccessFS: handled(abi)}
	if !p.online() {
		if abi >= 4 {
			attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
		}
		if abi >= 10 {
			attr.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
		}
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return attr
}

// restrict applies Landlock. It must run after the mounts, because rules refer to
// the files found at a path now.
func restrict(p Policy, abi int, l layers, exact exactPaths) error {
	attr := rulesetAttr(p, abi)
	set, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	fs := attr.HandledAccessFS
	add := func(right uint64, paths ...string) error {
		for _, path := range paths {
			if err := addRule(set, exact, path, right&fs); err != nil {
				return err
			}
		}
		return nil
	}
	// No devices may be made, and ioctl is granted for devices only.
	write := fs &^ (ll.AccessFSIoctlDev | ll.AccessFSMakeChar | ll.AccessFSMakeBlock)
	writable := p.writable()
	if l.mounts && !p.ReadOnly {
		writable = append(writable, sharedMemory) // a private one is mounted there
	}
	err = errors.Join(
		add(write, writable...),
		add(readAll, p.readable()...),
		add(ll.AccessFSReadDir, p.List...),
		add(useFile, devices...),
		add(ll.AccessFSReadDir, "/dev"),
	)
	if l.terminals {
		err = errors.Join(err, add(useFile|ll.AccessFSReadDir, terminals, terminalMaker, ownTerminal))
	}
	if p.resolves() {
		err = errors.Join(err, add(readAll|ll.AccessFSResolveUnix, nameServices...))
	}
	if err != nil {
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); e != 0 { // restricts this thread
		return e
	}
	return nil
}

// addRule grants rights below a path. It grants nothing if the path is absent or
// may not be accessed.
func addRule(set int, exact exactPaths, path string, right uint64) error {
	fd, err := exact.open(path)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil
	case err != nil:
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		right &= useFile | ll.AccessFSResolveUnix
	}
	if right == 0 {
		return nil
	}
	rule := ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: right}
	if err := ll.LandlockAddPathBeneathRule(set, &rule, 0); err != nil {
		return fmt.Errorf("allowing %s: %w", path, err)
	}
	return nil
}
