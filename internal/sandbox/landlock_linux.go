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

// handled is the rights over files that an ABI can restrict.
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

// devices is the device files that every program may count on. /dev/tty is not
// among them: commands have no terminal, and a typed answer is not theirs.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// rulesetAttr is what an ABI lets us restrict of this policy.
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

// restrict puts Landlock in force. It comes behind the mounts: rules are tied
// to what is found at a path now.
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
	// Devices are not made, and ioctl is for those below.
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
	)
	if l.terminals {
		err = errors.Join(err, add(useFile|ll.AccessFSReadDir, terminals, terminalMaker))
	}
	if p.online() {
		err = errors.Join(err, add(readAll|ll.AccessFSResolveUnix, nameServices...))
	}
	if err != nil {
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); e != 0 { // of this thread
		return e
	}
	return nil
}

// addRule grants rights below a path. What is absent, or may not be looked at,
// gets none.
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
