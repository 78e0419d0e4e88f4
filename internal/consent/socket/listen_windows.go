package socket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/exec/process"
)

// pipePrefix is the prefix of pipe names. The rest is random.
const pipePrefix = `\\.\pipe\mcp-toolset-approval-`

// pipeBuffer is the suggested size of the buffers of a pipe, in bytes.
const pipeBuffer = MaxLine

// pipeListener listens on a named pipe. Each client gets an instance of it.
type pipeListener struct {
	name    *uint16
	access  *windows.SecurityAttributes
	next    windows.Handle // the instance that waits for a client
	stopped windows.Handle // event
}

// newPipeListener creates a pipe that only this user can open, and only on this
// machine. It fails if a pipe of that name exists.
func newPipeListener(name string) (*pipeListener, error) {
	_, access, err := process.OnlyThisUser()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	l := &pipeListener{access: access}
	if l.name, err = windows.UTF16PtrFromString(name); err != nil {
		return nil, err
	}
	if l.next, err = l.instance(windows.FILE_FLAG_FIRST_PIPE_INSTANCE); err != nil {
		return nil, err
	}
	if l.stopped, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		_ = windows.CloseHandle(l.next)
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	return l, nil
}

func (l *pipeListener) instance(flag uint32) (windows.Handle, error) {
	h, err := windows.CreateNamedPipe(l.name,
		windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED|flag,
		windows.PIPE_TYPE_BYTE|windows.PIPE_READMODE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		windows.PIPE_UNLIMITED_INSTANCES, pipeBuffer, pipeBuffer, 0, l.access)
	if err != nil {
		return 0, fmt.Errorf("making a pipe: %w", err)
	}
	return h, nil
}

// accept waits for a client.
func (l *pipeListener) accept() (Conn, error) {
	if l.next == 0 {
		var err error
		if l.next, err = l.instance(0); err != nil {
			return nil, err
		}
	}
	h := l.next
	err := l.connect(h)
	if errors.Is(err, net.ErrClosed) {
		return nil, err
	}
	l.next = 0
	if err != nil {
		_ = windows.CloseHandle(h)
		return nil, fmt.Errorf("waiting for a client of a pipe: %w", err)
	}
	l.next, _ = l.instance(0) // if this fails, the next call tries again
	return newPipeConn(h), nil
}

// connect waits until the instance has a client or the listener is stopped.
func (l *pipeListener) connect(h windows.Handle) error {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(event)
	overlapped := &windows.Overlapped{HEvent: event}
	switch err := windows.ConnectNamedPipe(h, overlapped); err {
	case nil, windows.ERROR_PIPE_CONNECTED:
		return nil
	case windows.ERROR_IO_PENDING:
	default:
		return err
	}
	first, err := windows.WaitForMultipleObjects([]windows.Handle{l.stopped, event}, false, windows.INFINITE)
	if err == nil && first == windows.WAIT_OBJECT_0 {
		err = net.ErrClosed
	}
	if err != nil {
		_ = windows.CancelIoEx(h, overlapped)
	}
	var n uint32
	if done := windows.GetOverlappedResult(h, overlapped, &n, true); err == nil {
		err = done
	}
	return err
}

func (l *pipeListener) stop() { _ = windows.SetEvent(l.stopped) }

// Close removes the pipe. It must not be called before accept has returned.
func (l *pipeListener) Close() error {
	if l.next != 0 {
		_ = windows.CloseHandle(l.next)
	}
	return windows.CloseHandle(l.stopped)
}

// pipeConn is one end of a pipe instance.
type pipeConn struct {
	*os.File
	handle windows.Handle // of the file
}

func newPipeConn(h windows.Handle) pipeConn { return pipeConn{os.NewFile(uintptr(h), "pipe"), h} }

// dial connects to the pipe of a server of this user.
func dial(ctx context.Context, name string) (Conn, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	for {
		// The server can identify the client but cannot impersonate it.
		h, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
			windows.FILE_FLAG_OVERLAPPED|windows.SECURITY_SQOS_PRESENT|windows.SECURITY_IDENTIFICATION, 0)
		switch {
		case err == nil:
			if err := checkOwner(h); err != nil {
				_ = windows.CloseHandle(h)
				return nil, err
			}
			return newPipeConn(h), nil
		case !errors.Is(err, windows.ERROR_PIPE_BUSY):
			return nil, fmt.Errorf("opening the pipe of a server: %w", err)
		case !pause(ctx, 10*time.Millisecond):
			return nil, context.Cause(ctx)
		}
	}
}

var errOwner = errors.New("the pipe with the name of a server belongs to another user")

// checkOwner rejects a pipe that another user has created under the name of a
// server's pipe.
func checkOwner(h windows.Handle) error {
	sid, err := process.OwnSID()
	if err != nil {
		return err
	}
	sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("finding the owner of the pipe of a server: %w", err)
	}
	owner, _, err := sd.Owner()
	if err != nil || owner == nil || owner.String() != sid {
		return errOwner
	}
	return nil
}

// listen creates the pipe and writes its name to the server's folder.
func (d *endpoint) listen() error {
	name := pipePrefix + rand.Text()
	l, err := newPipeListener(name)
	if err != nil {
		return err
	}
	d.listener = l
	return os.WriteFile(filepath.Join(d.folder, pointerName), []byte(name), 0o600)
}

// present reports whether other processes can still find the pipe.
func (d *endpoint) present() bool {
	_, err := socketOf(d.folder)
	return err == nil
}

// socketOf returns the name of a server's pipe.
func socketOf(folder string) (string, error) {
	at := filepath.Join(folder, pointerName)
	data, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	name := string(data)
	if rest, ok := strings.CutPrefix(name, pipePrefix); !ok || rest == "" || strings.ContainsAny(rest, "\\/\x00") {
		return "", fmt.Errorf("%s does not name a pipe", at)
	}
	return name, nil
}

// tempOf returns "", because a pipe has no folder.
func tempOf(string) string { return "" }

// private reports whether info is a folder. Access is limited by the access
// control list that it inherits from the user's profile.
func private(info fs.FileInfo) bool { return info.IsDir() }
