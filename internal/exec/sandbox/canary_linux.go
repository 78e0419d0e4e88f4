package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts lists the attempts for each promise. The promise holds if all fail.
var attempts = []struct {
	promise string
	try     []attempt
}{
	{promiseWrite, []attempt{tryElsewhere, tryCreate, tryOverwrite, tryTruncate, tryRename}},
	{promiseMetadata, []attempt{tryChmod, tryChown, tryTimes, tryAttribute}},
	{promiseProtect, []attempt{tryProtected, tryReplace, tryProtectedLink}},
	{promiseHide, []attempt{tryHidden, tryHiddenMove, tryHiddenLink}},
	{promiseRead, []attempt{tryRead}},
	{promiseTCP, []attempt{tryTCP}},
	{promiseUDP, []attempt{tryUDP}},
	{promiseNetwork, []attempt{tryTCP, tryEcho, tryInterfaces, tryRoute("192.0.2.1:9"), tryRoute("[2001:db8::1]:9")}},
	{promiseUnix, []attempt{tryUnix}},
	{promiseAbstract, []attempt{func(_ Policy, t Targets) error { return dial("unix", t.Abstract) }}},
	{promiseKill, []attempt{tryKill}},
	{promisePtrace, []attempt{tryMemory}},
	{promiseEnviron, []attempt{tryEnviron}},
	{promiseMount, []attempt{tryMount, tryMountTree}},
	{promiseUserns, []attempt{tryUnshare, tryClone}},
	{promiseIOUring, []attempt{tryIOUring}},
	{promiseMemfd, []attempt{tryMemfd}},
	{promiseIPC, []attempt{tryIPC}},
	{promisePrivilege, []attempt{tryPrivilege}},
	{promiseTerminal, []attempt{tryTerminal(unix.O_WRONLY), tryTerminal(unix.O_RDONLY)}},
	{promiseSetuid, []attempt{trySetuid(setByChmod), trySetuid(setByOpen), trySetuid(setByOpenat2), trySetuid(setByMknod)}},
}

// tryElsewhere makes a file without a name, which leaves no trace, in a folder that
// only the policy protects. The targets' own folder may be masked, so an attempt
// there proves less.
func tryElsewhere(p Policy, t Targets) error {
	if t.Elsewhere == "" || belowAny(t.Elsewhere, p.writable()) {
		return errors.New("there is no folder to try it in")
	}
	fd, err := unix.Open(t.Elsewhere, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func tryAttribute(_ Policy, t Targets) error {
	return unix.Setxattr(t.Outside+"/file", "user.canary", []byte("x"), 0)
}

// tryEcho sends a datagram to a listener that sends it back. A write alone shows
// nothing: it succeeds for a closed port, too.
func tryEcho(_ Policy, t Targets) error {
	c, err := net.Dial("udp", t.UDP)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("canary")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 10))
	return err
}

// tryInterfaces looks for an interface of a network that is not this machine.
func tryInterfaces(Policy, Targets) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			return nil
		}
	}
	return errors.New("only the loopback interface is up")
}

// tryRoute looks for a route to an address that is reserved for documentation. It
// sends nothing. ICMP and raw sockets need a route, too.
func tryRoute(to string) attempt {
	return func(Policy, Targets) error {
		c, err := net.Dial("udp", to)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// errApart is the error where process ids of the server mean nothing in this
// namespace.
var errApart = errors.New("the server is in another PID namespace")

func tryKill(_ Policy, t Targets) error {
	if own(CurrentNamespaces().PID, t.Server.PID) {
		return errApart
	}
	return unix.Kill(t.PID, 0)
}

// tryMemory reads an unmapped address: it only matters whether the kernel permits
// the access.
func tryMemory(_ Policy, t Targets) error {
	if own(CurrentNamespaces().PID, t.Server.PID) {
		return errApart
	}
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(1)
	_, err := unix.ProcessVMReadv(t.PID, local, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func tryEnviron(_ Policy, t Targets) error {
	self, _ := os.Readlink("/proc/self")
	if own(CurrentNamespaces().PID, t.Server.PID) && self == strconv.Itoa(os.Getpid()) {
		return errApart
	}
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.PID))
	return err
}

// refused returns err if the kernel denied the call, and nil if it went on to check
// the arguments.
func refused(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EACCES) {
		return err
	}
	return nil
}

func tryMount(Policy, Targets) error {
	return refused(unix.Mount("none", "/nowhere/at/all", "tmpfs", 0, ""))
}

func tryMountTree(Policy, Targets) error {
	_, err := unix.OpenTree(unix.AT_FDCWD, "/nowhere/at/all", 0)
	return refused(err)
}

// tryUnshare gets EINVAL where unshare is allowed, since this process has several
// threads.
func tryUnshare(Policy, Targets) error { return refused(unix.Unshare(unix.CLONE_NEWUSER)) }

func tryClone(Policy, Targets) error {
	_, err := syscall.ForkExec("/nowhere/at/all", nil, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER},
	})
	return refused(err)
}

func tryIOUring(Policy, Targets) error {
	_, _, e := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
	return refused(e)
}

func tryMemfd(Policy, Targets) error {
	fd, err := unix.MemfdCreate("canary", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func tryIPC(_ Policy, t Targets) error {
	if t.Memory < 0 {
		return errors.New("there is none here")
	}
	var d unix.SysvShmDesc
	_, _, e := unix.RawSyscall(unix.SYS_SHMCTL, uintptr(t.Memory), unix.IPC_STAT, uintptr(unsafe.Pointer(&d)))
	if e != 0 {
		return e
	}
	return nil
}

func tryPrivilege(p Policy, _ Targets) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	left := effective() &^ p.retainedCapabilities(true)
	if err == nil && on == 1 && left == 0 {
		return errors.New("no_new_privs is set and there are no capabilities")
	}
	return err
}
