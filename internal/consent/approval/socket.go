package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/record/store"
)

// Each server has its own folder within the folder of approvals. Its name is
// random, and the lock beside it is free once the server has ended for any
// reason. The folder contains the socket. If the path would be too long, it
// contains a file with the path of the socket instead; on Windows, a file with
// the name of a pipe.
const (
	socketName  = "s"
	pointerName = "at"

	// tempPattern is the name pattern of folders for sockets outside of the
	// server's folder.
	tempPattern = "mcp-toolset-approval-*"

	// nameLength is the length of a server folder's random name, in characters
	// of 5 bits each: enough to be unguessable, and short enough for the path
	// of a socket.
	nameLength = 16
)

var errNotOffered = fmt.Errorf("approvals from outside are not offered on %s", runtime.GOOS)

// listener accepts connections at a door.
type listener interface {
	accept() (conn, error)
	stop() // makes accept return
	io.Closer
}

// conn is a connection to another process, at either end.
type conn interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// endpoint is the socket or pipe of a server, with its folder.
type endpoint struct {
	folder   string // folder of this server
	own      *store.Folder
	temp     string // folder of the socket, if it is not in the server's folder
	listener listener
	stop     context.CancelFunc
	served   sync.WaitGroup
}

// makeFolder creates the folder of all approvals.
func (s *Store) makeFolder() error {
	if err := state.EnsurePrivate(s.config.Folder); err != nil {
		return err
	}
	return state.EnsurePrivate(s.folder)
}

// open creates the socket if there is none.
func (s *Store) open() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	switch {
	case s.closed:
		return errClosed
	case !offered:
		return errNotOffered
	case s.endpoint != nil && s.endpoint.present():
		return nil
	}
	if err := s.shut(); err != nil { // another process removed it
		s.config.Log.Warn("the socket of approvals is gone", "error", err.Error())
	}
	if err := s.makeFolder(); err != nil {
		return fmt.Errorf("opening the socket of approvals: %w", err)
	}
	sweep(s.folder)
	d, err := newEndpoint(filepath.Join(s.folder, rand.Text()[:nameLength]))
	if err != nil {
		return fmt.Errorf("opening the socket of approvals: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.served.Go(func() { s.serve(ctx, d) })
	s.endpoint = d
	return nil
}

// newEndpoint creates the folder of a server and listens there.
func newEndpoint(folder string) (*endpoint, error) {
	own, err := store.Own(folder)
	if err != nil {
		return nil, err
	}
	d := &endpoint{folder: folder, own: own}
	if err := d.listen(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// Close drops all pending approvals and removes the socket. What is always
// allowed is unchanged.
func (s *Store) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.closed = true
	if err := s.shut(); err != nil {
		return fmt.Errorf("closing the socket of approvals: %w", err)
	}
	return nil
}

// shut closes the door, if there is one. The caller must hold s.opening.
func (s *Store) shut() error {
	d := s.endpoint
	if d == nil {
		return nil
	}
	s.endpoint = nil
	d.stop()
	d.served.Wait()
	return d.remove()
}

// remove removes everything of a door that is no longer served.
func (d *endpoint) remove() error {
	if d.listener != nil {
		_ = d.listener.Close() // this also removes a socket
	}
	removeFiles(d.folder, d.temp)
	return d.own.Remove()
}

// removeFiles removes the files of a server, and the separate folder of its
// socket, if any. It removes only files that we created.
func removeFiles(folder, temp string) {
	_ = os.Remove(filepath.Join(folder, socketName))
	_ = os.Remove(filepath.Join(folder, pointerName))
	if temp != "" {
		_ = os.Remove(filepath.Join(temp, socketName))
		_ = os.Remove(temp)
	}
}

// sweep removes the files of servers that were killed.
func sweep(root string) {
	folders, _ := store.Servers(root)
	for _, folder := range folders {
		if len(filepath.Base(folder)) == nameLength {
			store.Reclaim(folder, func() { removeFiles(folder, tempOf(folder)) })
		}
	}
}
