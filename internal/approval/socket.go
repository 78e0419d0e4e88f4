package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/state"
)

// A server has a folder of its own in that of approvals, with a random name and
// a lock beside it that is free once the server is gone, however it ended. In
// it is its socket or, where the path would be too long for one, a file that
// names the socket; on Windows a file that names a pipe.
const (
	socketName  = "s"
	pointerName = "at"

	// tempPattern is what a folder for such a socket is called by.
	tempPattern = "mcp-toolset-approval-*"

	// nameLength is how much of a random name is used, in characters of 5 bits:
	// nobody guesses it, and it leaves room in a socket's path.
	nameLength = 16
)

var errNotOffered = fmt.Errorf("approvals from outside are not offered on %s", runtime.GOOS)

// listener is where a door waits for others.
type listener interface {
	accept() (conn, error)
	stop() // ends accept
	io.Closer
}

// conn is a connection to another process, at either end.
type conn interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// door is where other processes come in.
type door struct {
	folder   string // of this server
	lock     io.Closer
	temp     string // folder of the socket, if that is not folder
	listener listener
	stop     context.CancelFunc
	served   sync.WaitGroup
}

// makeFolder makes the folder of all approvals.
func (s *Store) makeFolder() error {
	if err := state.EnsurePrivate(s.config.Folder); err != nil {
		return err
	}
	return state.EnsurePrivate(s.folder)
}

// open makes the socket if there is none.
func (s *Store) open() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	switch {
	case s.closed:
		return errClosed
	case !offered:
		return errNotOffered
	case s.door != nil && s.door.present():
		return nil
	}
	if err := s.shut(); err != nil { // somebody cleaned up
		s.config.Log.Warn("the socket of approvals is gone", "error", err.Error())
	}
	if err := s.makeFolder(); err != nil {
		return fmt.Errorf("opening the socket of approvals: %w", err)
	}
	sweep(s.folder)
	d, err := newDoor(filepath.Join(s.folder, rand.Text()[:nameLength]))
	if err != nil {
		return fmt.Errorf("opening the socket of approvals: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.served.Go(func() { s.serve(ctx, d) })
	s.door = d
	return nil
}

// newDoor makes the folder of a server and listens there.
func newDoor(folder string) (*door, error) {
	lock, err := state.OwnFolder(folder)
	if err != nil {
		return nil, err
	}
	d := &door{folder: folder, lock: lock}
	if err := d.listen(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// Close ends what is pending and removes the socket. What is always allowed
// stays.
func (s *Store) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.closed = true
	if err := s.shut(); err != nil {
		return fmt.Errorf("closing the socket of approvals: %w", err)
	}
	return nil
}

// shut closes the door if there is one. The caller holds s.opening.
func (s *Store) shut() error {
	d := s.door
	if d == nil {
		return nil
	}
	s.door = nil
	d.stop()
	d.served.Wait()
	return d.remove()
}

// remove takes away all of a door that nobody is served at any more.
func (d *door) remove() error {
	if d.listener != nil {
		_ = d.listener.Close() // which also removes a socket
	}
	var errs []error
	// The lock's file goes while it is locked, so that nobody locks one that goes.
	for _, err := range []error{removeFolder(d.folder, d.temp), os.Remove(d.folder + state.LockExt), d.lock.Close()} {
		if !errors.Is(err, fs.ErrNotExist) { // somebody may have cleaned up
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeFolder removes the folder of a server and, where it is another, that of
// its socket: only what we put there.
func removeFolder(folder, temp string) error {
	_ = os.Remove(filepath.Join(folder, socketName))
	_ = os.Remove(filepath.Join(folder, pointerName))
	if temp != "" {
		_ = os.Remove(filepath.Join(temp, socketName))
		_ = os.Remove(temp)
	}
	return os.Remove(folder)
}

// sweep removes what servers left that were killed.
func sweep(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == nameLength {
			sweepServer(filepath.Join(folder, e.Name()))
		}
		if name, ok := strings.CutSuffix(e.Name(), state.LockExt); ok && len(name) == nameLength {
			sweepServer(filepath.Join(folder, name))
		}
	}
}

func sweepServer(folder string) {
	lock, err := state.TryLock(folder + state.LockExt)
	if err != nil {
		return // it lives
	}
	temp := tempOf(folder)
	// A folder that has more in it stays, and with it what it is called by.
	if err := removeFolder(folder, temp); err == nil || errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(folder + state.LockExt)
	}
	_ = lock.Close()
}
