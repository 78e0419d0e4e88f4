// Package socket implements the private socket of a server, by which other processes of the same
// user, such as `mcp-toolset approve` and `mcp-toolset console`, reach it.
//
// It is a unix socket in the state folder or, on Windows, a named pipe. Its mode excludes other
// users. As a second defense, a peer that descends from a server's process is refused
// (peer_linux.go): a command that a tool runs must not be able to approve itself. A command can
// evade that check through a process outside of its own process tree.
//
// A connection begins with a line. The word at its beginning selects the handler.
package socket

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/record/state"
	"mcp-toolset/internal/record/store"
)

// Each server has its own folder within the folder of sockets. Its name is
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

const (
	// MaxLine is the limit of the first line of a connection, in bytes.
	MaxLine = 64 << 10
	// maxConnections is the limit of connections that are served at once.
	maxConnections = 32
	// firstWithin is the timeout for a peer to send the first line.
	firstWithin = 2 * time.Second
)

// ErrClosed is the error of Open after Close.
var ErrClosed = errors.New("the server is stopping")

// ErrNotOffered reports that this system has no private sockets.
var ErrNotOffered = fmt.Errorf("approvals from outside are not offered on %s", runtime.GOOS)

// listener accepts connections.
type listener interface {
	accept() (Conn, error)
	stop() // makes accept return
	io.Closer
}

// Conn is a connection to another process, at either end.
type Conn interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Peer is a connection whose first line has been read.
type Peer struct {
	Conn
	Line    []byte        // the first line, with its line break unless Err is set
	Rest    *bufio.Reader // the bytes after the line
	Refused error         // reason not to serve the peer, or nil
	Err     error         // reason for the lack of a first line, or nil
}

// Handler serves a peer until it returns. It must serve nothing to a peer with Refused. ctx ends
// when the server ends; the connection is then closed.
type Handler func(ctx context.Context, p *Peer)

// endpoint is the socket or pipe of a server, with its folder.
type endpoint struct {
	folder   string // folder of this server
	own      *store.Folder
	temp     string // folder of the socket, if it is not in the server's folder
	listener listener
	stop     context.CancelFunc
	served   sync.WaitGroup
}

// Server is the socket of one server. It is safe for concurrent use.
type Server struct {
	state, folder string
	log           *slog.Logger
	handlers      map[string]Handler

	opening  sync.Mutex // held while the socket is opened or closed
	endpoint *endpoint  // nil before Open
	closed   bool
}

// New returns the socket of a server with a state folder. It accesses no file.
func New(stateFolder string, log *slog.Logger) *Server {
	return &Server{state: stateFolder, folder: Folder(stateFolder), log: log, handlers: map[string]Handler{}}
}

// Folder returns the folder of all sockets in a state folder.
func Folder(stateFolder string) string { return filepath.Join(stateFolder, "approvals") }

// Handle serves connections whose first line begins with a word. It must be called before Open.
// A line that no word fits goes to the handler of "", which must exist.
func (s *Server) Handle(word string, h Handler) { s.handlers[word] = h }

// EnsureFolder creates the folder of all sockets.
func (s *Server) EnsureFolder() error {
	if err := state.EnsurePrivate(s.state); err != nil {
		return err
	}
	return state.EnsurePrivate(s.folder)
}

// At returns the folder of this server, or "" before Open.
func (s *Server) At() string {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.endpoint == nil {
		return ""
	}
	return s.endpoint.folder
}

// Open creates the socket if there is none.
func (s *Server) Open() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case !offered:
		return ErrNotOffered
	case s.endpoint != nil && s.endpoint.present():
		return nil
	}
	if err := s.shut(); err != nil { // another process removed it
		s.log.Warn("the private socket is gone", "error", err.Error())
	}
	if err := s.EnsureFolder(); err != nil {
		return fmt.Errorf("opening the private socket: %w", err)
	}
	sweep(s.folder)
	d, err := newEndpoint(filepath.Join(s.folder, rand.Text()[:nameLength]))
	if err != nil {
		return fmt.Errorf("opening the private socket: %w", err)
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

// Close ends all connections and removes the socket.
func (s *Server) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.closed = true
	if err := s.shut(); err != nil {
		return fmt.Errorf("closing the private socket: %w", err)
	}
	return nil
}

// shut closes the endpoint, if there is one. The caller must hold s.opening.
func (s *Server) shut() error {
	d := s.endpoint
	if d == nil {
		return nil
	}
	s.endpoint = nil
	d.stop()
	d.served.Wait()
	return d.remove()
}

// serve accepts connections until ctx ends.
func (s *Server) serve(ctx context.Context, d *endpoint) {
	var busy sync.WaitGroup
	defer busy.Wait()
	defer context.AfterFunc(ctx, d.listener.stop)()
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := d.listener.accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// An error may mean that no descriptors are free. The pause avoids
			// a busy loop.
			if !pause(ctx, 100*time.Millisecond) {
				return
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		busy.Go(func() {
			defer func() { <-slots }()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close()
			s.meet(ctx, conn)
		})
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// meet checks the peer of a connection, reads its first line, and calls the handler.
func (s *Server) meet(ctx context.Context, conn Conn) {
	p := &Peer{Conn: conn, Rest: bufio.NewReaderSize(conn, MaxLine)}
	// This check comes first, while the peer is still the process that
	// connected.
	if p.Refused = checkPeer(conn); p.Refused != nil {
		s.log.Warn("refused a connection to the private socket", "error", p.Refused.Error())
	}
	_ = conn.SetDeadline(time.Now().Add(firstWithin)) // starts here because the time before does not depend on the peer
	// Read the line in any case: unread data may make the peer lose the answer.
	line, err := ReadLine(p.Rest)
	p.Line, p.Err = append([]byte(nil), line...), err
	word, _, _ := strings.Cut(strings.TrimSuffix(string(p.Line), "\n"), " ")
	h := s.handlers[word]
	if h == nil {
		h = s.handlers[""]
	}
	h(ctx, p)
}

// ReadLine reads one line of up to MaxLine bytes. The buffer of r must be that large.
func ReadLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("a message is longer than %d bytes", MaxLine)
	}
	return line, err
}

// Offered reports whether this system has private sockets.
func Offered() bool { return offered }

// Dial connects to the server of a folder that Servers returned.
func Dial(ctx context.Context, folder string) (Conn, error) {
	at, err := socketOf(folder)
	if err != nil {
		return nil, err
	}
	return dial(ctx, at)
}

// Servers returns the folders of servers, including those that were killed. A missing folder is
// no error. A folder that is not private is an error.
func Servers(stateFolder string) ([]string, error) {
	folder := Folder(stateFolder)
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for servers: %w", err)
	case !private(info):
		return nil, fmt.Errorf("looking for servers: %s is not a private folder of this user", folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("looking for servers: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == nameLength {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out, nil
}

// remove removes everything of an endpoint that is no longer served.
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
