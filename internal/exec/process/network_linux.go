package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Network is a network namespace with only a loopback interface. It exists until it
// is closed and the commands in it have ended. It is safe for concurrent use.
type Network struct {
	spawner *spawner
	space   *os.File
	once    sync.Once
}

// NewNetwork makes a Network. It returns an error if the tier is not PIDNamespace or
// the kernel refuses.
func (r *Runner) NewNetwork(ctx context.Context) (*Network, error) {
	t, err := r.Tier(ctx)
	if err != nil {
		return nil, err
	}
	if t != PIDNamespace {
		return nil, fmt.Errorf("making a network for commands: it needs the tier %s, and the tier is %s", PIDNamespace, t)
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.alive.Done()
	ctx, cancel := r.boundStart(ctx)
	defer cancel()
	for again := true; ; again = false {
		n, err := r.useSpawner(ctx)
		if err != nil {
			return nil, fmt.Errorf("making a network for commands: %w", err)
		}
		a, err := n.ask(ctx, opNetwork)
		if err == nil {
			return &Network{spawner: n, space: a.file()}, nil
		}
		r.leave(n)
		if !again || !errors.Is(err, errSpawnerEnded) {
			return nil, fmt.Errorf("making a network for commands: %w", err)
		}
	}
}

// Gone reports whether commands cannot be started in the Network any more.
func (n *Network) Gone() bool { return n.spawner.hasExited() || !n.spawner.isCurrent() }

// Close releases the Network. Commands that run in it continue.
func (n *Network) Close() error {
	err := os.ErrClosed
	n.once.Do(func() {
		err = n.space.Close()
		n.spawner.runner.leave(n.spawner)
	})
	return err
}

// make makes a socket in the Network.
func (n *Network) make(ctx context.Context, do operation) (*os.File, error) {
	r := n.spawner.runner
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.alive.Done()
	if n.spawner.hasExited() { // a spawner that was replaced still serves
		return nil, ErrNetworkGone
	}
	ctx, cancel := r.boundStart(ctx)
	defer cancel()
	a, err := n.spawner.ask(ctx, do, n.space)
	if errors.Is(err, errSpawnerEnded) {
		err = ErrNetworkGone
	}
	if err != nil {
		return nil, err
	}
	return a.file(), nil
}

// Listen returns a TCP listener on 127.0.0.1 in the Network. The kernel chooses the
// port.
func (n *Network) Listen(ctx context.Context) (net.Listener, error) {
	f, err := n.make(ctx, opListen)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

// Dial connects to a TCP port in the Network, of an address of its loopback
// interface.
func (n *Network) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	addr := to.Addr().Unmap()
	do, target := opSocket4, unix.Sockaddr(&unix.SockaddrInet4{Port: int(to.Port())})
	if addr.Is6() {
		do, target = opSocket6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: addr.As16()}
	} else if addr.IsValid() {
		target.(*unix.SockaddrInet4).Addr = addr.As4()
	}
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	f, err := n.make(ctx, do)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if err := connectSocket(ctx, f, target); err != nil {
		return fail(os.NewSyscallError("connect", err))
	}
	return net.FileConn(f)
}

// listeners returns the inodes of the TCP sockets that listen in the Network, with
// their ports.
func (n *Network) listeners(ctx context.Context) (map[uint64]uint16, error) {
	all := map[uint64]uint16{}
	for _, do := range []operation{opTable4, opTable6} {
		f, err := n.make(ctx, do)
		if do == opTable6 && errors.Is(err, unix.ENOENT) {
			break // the kernel has no IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("listing the sockets of a network: %w", err)
		}
		data, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("listing the sockets of a network: %w", err)
		}
		addListeners(all, string(data))
	}
	return all, nil
}

// Ports returns the TCP ports on which something listens in the Network.
func (n *Network) Ports(ctx context.Context) ([]uint16, error) {
	all, err := n.listeners(ctx)
	return slices.Collect(maps.Values(all)), err
}

// addListeners adds the sockets of a table that listen. A line of proc_net_tcp(5) is
// "sl: address:port address:port state queues timer retransmissions uid timeout inode
// ...", with numbers in hexadecimal up to the timer.
func addListeners(all map[uint64]uint16, table string) {
	const local, state, inode, listening = 1, 3, 9, "0A"
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[state] != listening {
			continue
		}
		_, text, _ := strings.Cut(fields[local], ":")
		port, err := strconv.ParseUint(text, 16, 16)
		number, failed := strconv.ParseUint(fields[inode], 10, 64)
		if err == nil && failed == nil && number != 0 {
			all[number] = uint16(port)
		}
	}
}

// maxSearches is the number of searches for the process that has a socket. One may miss
// a process that has just been started by another.
const maxSearches = 3

// Listening returns the TCP ports on which processes of the command listen, sorted. n
// is the Network of the command.
func (p *Process) Listening(ctx context.Context, n *Network) ([]uint16, error) {
	all, err := n.listeners(ctx)
	if err != nil || p.isDone() {
		return nil, err
	}
	p.searching.Lock()
	defer p.searching.Unlock()
	for inode := range p.sockets {
		if _, ok := all[inode]; !ok {
			delete(p.sockets, inode)
		}
	}
	search := false
	for inode := range all {
		if s := p.sockets[inode]; !s.own && s.searches < maxSearches {
			search = true
		}
	}
	if search {
		p.search(all)
	}
	var ports []uint16
	for inode, s := range p.sockets {
		if s.own {
			ports = append(ports, all[inode])
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

// searched is what is known of a socket that listens in the Network of a command.
type searched struct {
	own      bool // whether a process of the command has it
	searches int
}

// search finds out which of the sockets processes of the command have.
func (p *Process) search(all map[uint64]uint16) {
	if p.sockets == nil {
		p.sockets = map[uint64]searched{}
	}
	own := map[uint64]bool{}
	for _, d := range descendants(p.sup.child.pid()) {
		folder := "/proc/" + strconv.Itoa(d.pid) + "/fd"
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			target, _ := os.Readlink(folder + "/" + e.Name())
			if text, ok := strings.CutPrefix(target, "socket:["); ok {
				if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
					own[inode] = true
				}
			}
		}
	}
	for inode := range all {
		s := p.sockets[inode]
		p.sockets[inode] = searched{own: s.own || own[inode], searches: s.searches + 1}
	}
}

// connectSocket connects a socket that does not block.
func connectSocket(ctx context.Context, f *os.File, to unix.Sockaddr) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Connect(int(fd), to) }); err != nil || failed != unix.EINPROGRESS {
		return errors.Join(err, failed)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	err = raw.Write(func(fd uintptr) bool {
		number, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if failed = err; err == nil && number != 0 {
			failed = unix.Errno(number)
		}
		if failed != nil {
			return true
		}
		_, err = unix.Getpeername(int(fd))
		return err == nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return failed
}

// hosts reports whether the supervisor can start a command in a Network; nil means
// the network of the server.
func (s *supervisor) hosts(n *Network) bool {
	if n == nil {
		return true
	}
	h, ok := s.child.(*spawned)
	return ok && h.spawner == n.spawner
}

// joinNetwork moves this thread into the network namespace fd and closes fd.
func joinNetwork(fd int) error {
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("joining the network of the session: %w", err)
	}
	return nil
}
