//go:build !windows

package socket

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"mcp-toolset/internal/record/state"
)

// socketListener listens on a unix socket.
type socketListener struct{ *net.UnixListener }

func (l socketListener) accept() (Conn, error) { return l.AcceptUnix() }
func (l socketListener) stop()                 { _ = l.SetDeadline(time.Now()) }

// dial connects to a server's socket.
func dial(ctx context.Context, socket string) (Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// private reports whether a folder belongs to this user and is closed to other
// users.
func private(info fs.FileInfo) bool {
	return info.IsDir() && state.OwnedByUser(info) && info.Mode().Perm()&0o077 == 0
}

// present reports whether other processes can still find the socket.
func (d *endpoint) present() bool {
	path, err := socketOf(d.folder)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err == nil
}

// listen creates the socket. Its folder is private before the socket exists.
func (d *endpoint) listen() (err error) {
	path := filepath.Join(d.folder, socketName)
	if len(path) > maxSocketPath {
		if path, err = d.elsewhere(); err != nil {
			return err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	d.listener = socketListener{l}
	return os.Chmod(path, 0o600)
}

// elsewhere creates a folder for the socket with a shorter path, and writes the
// socket's path to the server's folder.
func (d *endpoint) elsewhere() (string, error) {
	dir, err := os.MkdirTemp("", tempPattern) // mode 0700
	if err != nil {
		return "", err
	}
	d.temp = dir
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("both %s and %s are too long for the path of a socket; set MCP_TOOLSET_STATE_DIR or TMPDIR to a shorter one", d.folder, os.TempDir())
	}
	return path, os.WriteFile(filepath.Join(d.folder, pointerName), []byte(path), 0o600)
}

// tempOf returns the folder of a server's socket, or "" if that is the server's
// own folder.
func tempOf(folder string) string {
	if socket, err := pointer(folder); err == nil {
		return filepath.Dir(socket)
	}
	return ""
}

// socketOf returns the path of a server's socket.
func socketOf(folder string) (string, error) {
	path := filepath.Join(folder, socketName)
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	return pointer(folder)
}

// pointer returns the path of a socket outside of the server's folder. It
// rejects paths that are not in a private folder with a name that we use.
func pointer(folder string) (string, error) {
	data, err := os.ReadFile(filepath.Join(folder, pointerName))
	if err != nil {
		return "", err
	}
	path := string(data)
	dir := filepath.Dir(path)
	ok, _ := filepath.Match(tempPattern, filepath.Base(dir))
	if !ok || !filepath.IsAbs(path) || filepath.Base(path) != socketName {
		return "", fmt.Errorf("%s does not name a socket", filepath.Join(folder, pointerName))
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !private(info) {
		return "", fmt.Errorf("%s is not a private folder of this user", dir)
	}
	return path, nil
}
