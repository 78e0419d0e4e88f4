package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Program says how the process of a workspace is started.
type Program struct {
	Args    func(*Spec) []string // without the name of the program, which is this one
	Environ []string
	Err     *os.File
}

// child is a process that was started.
type child struct {
	cmd     *exec.Cmd
	client  *http.Transport
	group   string // folder of its control group; "" without one
	stopped chan struct{}
	state   string // set when stopped is closed

	mu      sync.Mutex
	control *net.UnixConn
}

// Control is the number of the file by which a process gets its connections.
const Control = 3

// run starts the process of a workspace.
func (f *Front) run(s *Spec) (process, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("connecting to a workspace: %w", err)
	}
	c := &child{control: conn.(*net.UnixConn), stopped: make(chan struct{})}
	c.client = &http.Transport{
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return c.dial() },
		MaxIdleConns:    100,
		IdleConnTimeout: time.Minute, // less than that of the process, which must not close one that is being used
		// Nothing is between the two that would gain by these.
		DisableCompression: true, MaxIdleConnsPerHost: 100, ForceAttemptHTTP2: false,
	}
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{"mcp-toolset"}, f.Program.Args(s)...), Dir: s.Roots[0], Stderr: f.Program.Err, ExtraFiles: []*os.File{theirs},
		Env:         append(f.Program.Environ, "HOME="+s.Home, "MCP_TOOLSET_STATE_DIR="+s.State, "TMPDIR="+s.Temp),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // signals of a terminal are for the front
	}
	if err := c.as(s.User); err != nil {
		conn.Close()
		return nil, err
	}
	if f.groups != nil && (s.Limits.MemoryMB > 0 || s.Limits.CPU > 0) {
		dir, err := f.groups.of(s.Name, s.Limits)
		if err != nil {
			conn.Close()
			return nil, err
		}
		defer dir.Close()
		c.group = dir.Name()
		c.cmd.SysProcAttr.UseCgroupFD, c.cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	if err := c.cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("starting a workspace: %w", err)
	}
	go func() {
		_ = c.cmd.Wait()
		c.state = c.cmd.ProcessState.String()
		c.control.Close()
		c.client.CloseIdleConnections()
		if c.group != "" {
			removeGroup(c.group)
		}
		close(c.stopped)
	}()
	return c, nil
}

// as makes the process one of an OS user; "" means that of the front.
func (c *child) as(name string) error {
	uid, gid, groups, err := ids(name)
	if err == nil && name != "" {
		c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}
	}
	return err
}

// ids returns the numbers of an OS user.
func ids(name string) (uid, gid int, groups []uint32, err error) {
	if name == "" {
		return os.Getuid(), os.Getgid(), nil, nil
	}
	if os.Geteuid() != 0 {
		return 0, 0, nil, fmt.Errorf("only root can run the workspace as %s; leave out user, or start the server as root", name)
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, nil, err
	}
	uid, _ = strconv.Atoi(u.Uid)
	gid, _ = strconv.Atoi(u.Gid)
	list, err := u.GroupIds()
	for _, g := range list {
		n, _ := strconv.ParseUint(g, 10, 32)
		groups = append(groups, uint32(n))
	}
	return uid, gid, groups, err
}

// owner returns the function that gives a new folder to an OS user.
func owner(name string) (func(*os.File) error, error) {
	uid, gid, _, err := ids(name)
	return func(f *os.File) error { return f.Chown(uid, gid) }, err
}

// pair returns the ends of a connection without a name.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a connection: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "front"), os.NewFile(uintptr(fds[1]), "workspace"), nil
}

// dial makes a connection and sends its other end to the process.
func (c *child) dial() (net.Conn, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer ours.Close() // net.FileConn has its own
	defer theirs.Close()
	c.mu.Lock()
	_, _, err = c.control.WriteMsgUnix([]byte{0}, unix.UnixRights(int(theirs.Fd())), nil)
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	return net.FileConn(ours)
}

func (c *child) roundTrip(r *http.Request) (*http.Response, error) { return c.client.RoundTrip(r) }

func (c *child) ready(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = c.control.SetReadDeadline(time.Now()) })()
	_, err := io.ReadFull(c.control, make([]byte, 1))
	return err
}

func (c *child) end()                  { _ = c.cmd.Process.Signal(syscall.SIGTERM) }
func (c *child) kill()                 { _ = c.cmd.Process.Kill() }
func (c *child) done() <-chan struct{} { return c.stopped }
func (c *child) how() string           { return c.state }

// Inherited is the listener of the process of a workspace. Its connections are those of the front.
type Inherited struct {
	control *net.UnixConn
	gone    func()
	closed  chan struct{}
	once    sync.Once
}

// Inherit returns the listener. It must be called before the process starts another one. gone is
// called when the front has ended.
func Inherit(gone func()) (*Inherited, error) {
	f := os.NewFile(Control, "control")
	defer f.Close()
	conn, err := net.FileConn(f)
	control, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		return nil, errors.New("this command is for mcp-toolset http --principals, which starts it")
	}
	return &Inherited{control: control, gone: gone, closed: make(chan struct{})}, nil
}

// Ready tells the front that the process takes requests.
func (l *Inherited) Ready() error {
	_, err := l.control.Write([]byte{0})
	return err
}

// Accept returns the next connection.
func (l *Inherited) Accept() (net.Conn, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := l.control.ReadMsgUnix(b, oob)
	if err != nil || n == 0 {
		l.gone()
		<-l.closed // the server ends in order
		return nil, net.ErrClosed
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("taking a connection: %w", errors.Join(err, net.ErrClosed))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("taking a connection: %w", errors.Join(err, net.ErrClosed))
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// Close ends Accept.
func (l *Inherited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.control.Close()
}

// Addr returns an address without a name.
func (l *Inherited) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// openPlain opens a file that may be a trap.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}
