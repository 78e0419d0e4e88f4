package sandbox

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts lists the attempts for each promise. The promise holds if all fail. Profiles
// do not cover those without attempts. What only Linux has is left out.
var attempts = []struct {
	promise string
	try     []attempt
}{
	{promiseWrite, []attempt{tryElsewhere, tryCreate, tryOverwrite, tryTruncate, tryRename}},
	{promiseMetadata, []attempt{tryChmod, tryChown, tryTimes}},
	{promiseProtect, []attempt{tryProtected, tryReplace, tryProtectedLink, tryProtectedSwap}},
	{promiseHide, []attempt{tryHidden, tryHiddenMove, tryHiddenLink, tryHiddenClone}},
	{promiseRead, []attempt{tryRead}},
	{promiseTCP, []attempt{tryTCP}},
	{promiseUDP, []attempt{tryUDP}},
	{promiseNetwork, nil},
	{promiseUnix, []attempt{tryUnix}},
	{promiseKill, []attempt{func(_ Policy, t Targets) error { return unix.Kill(t.PID, 0) }}},
	{promisePtrace, nil},
	{promiseEnviron, []attempt{tryEnviron}},
	{promiseMount, nil},
	{promiseIPC, nil},
	{promisePrivilege, nil},
	{promiseTerminal, nil},
	{promiseSetuid, []attempt{trySetuid}},
}

// system makes no targets: this system has no others.
func (*Targets) system() ([]func(), error) { return nil, nil }

// tryElsewhere makes a file in a folder that only the policy protects, and removes it.
func tryElsewhere(p Policy, t Targets) error {
	if t.Elsewhere == "" || belowAny(t.Elsewhere, p.writable()) {
		return errors.New("there is no folder to try it in")
	}
	f, err := os.CreateTemp(t.Elsewhere, ".mcp-toolset-canary-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// tryEnviron reads the environment of the server by the number of kern.procargs2, since
// the look-up of a name may be refused.
func tryEnviron(_ Policy, t Targets) error {
	mib := [3]int32{1, 49, int32(t.PID)}
	text := make([]byte, 1<<20)
	size := uintptr(len(text))
	_, _, e := unix.Syscall6(unix.SYS_SYSCTL, uintptr(unsafe.Pointer(&mib[0])), uintptr(len(mib)), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&size)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// tryProtectedSwap exchanges the protected file with another one, and back.
func tryProtectedSwap(_ Policy, t Targets) error {
	swap := func() error { return unix.RenamexNp(t.Inside+"/protected", t.Inside+"/free", unix.RENAME_SWAP) }
	if err := swap(); err != nil {
		return err
	}
	return swap()
}

// tryHiddenClone reads a copy that shares the blocks of the hidden file.
func tryHiddenClone(_ Policy, t Targets) error {
	path := t.Inside + "/cloned"
	if err := unix.Clonefile(t.Inside+"/hidden", path, 0); err != nil {
		return err
	}
	return errors.Join(readSome(path), os.Remove(path))
}

// trySetuid makes a file setuid, and removes it.
func trySetuid(p Policy, t Targets) error {
	folder := p.TempDir
	if folder == "" {
		folder = t.Inside
	}
	f, err := os.CreateTemp(folder, ".canary-mode-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	return unix.Fchmod(int(f.Fd()), unix.S_ISUID|0o700)
}
