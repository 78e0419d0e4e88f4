//go:build !windows

package approval

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"mcp-toolset/internal/state"
)

// socketListener is a unix socket.
type socketListener struct{ *net.UnixListener }

func (l socketListener) accept() (conn, error) { return l.AcceptUnix() }
func (l socketListener) stop()                 { _ = l.SetDeadline(time.Now()) }

// dial connects to a server's socket.
func dial(ctx context.Context, socket string) (conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// private reports whether a folder belongs to this user and is closed to others.
func private(info fs.FileInfo) bool {
	return info.IsDir() && state.Ours(info) && info.Mode().Perm()&0o077 == 0
}

// present reports whether others still find the socket.
func (d *door) present() bool {
	path, err := socketOf(d.folder)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err == nil
}

// listen makes the socket. Its folder is private before there is one.
func (d *door) listen() (err error) {
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

// elsewhere makes a folder for the socket where paths are short, and writes its
// path to the server's folder.
func (d *door) elsewhere() (string, error) {
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

// tempOf is the folder of a server's socket, if that is not the server's; "" if it
// is.
func tempOf(folder string) string {
	if socket, err := pointer(folder); err == nil {
		return filepath.Dir(socket)
	}
	return ""
}

// socketOf is the path of a server's socket.
func socketOf(folder string) (string, error) {
	path := filepath.Join(folder, socketName)
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	return pointer(folder)
}

// pointer is where the socket of a server is if that is not in its folder. What
// is not in a private folder as we make them is nothing of ours.
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
