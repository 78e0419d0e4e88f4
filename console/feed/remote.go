package feed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/text/plain"
)

// The protocol on the private socket of a server: the first line is "feed OP LENGTH", and LENGTH
// bytes of parameters follow. The answer to the operation watch is updates, one JSON document per
// line, until either side closes. The answer to any other is one JSON document.
const (
	// Word begins the first line.
	Word = "feed"

	opWatch = "watch"
	// maxParams is the limit of parameters, and maxDocument that of a document of an answer, in bytes.
	maxParams   = 4 << 20
	maxDocument = 64 << 20
	// maxWatchers leaves most connections of the socket to requests.
	maxWatchers = 8
	// sendWithin is the timeout for a peer to read an update or an answer, askWithin that for an
	// answer to begin, and paramsWithin that for parameters to arrive.
	sendWithin   = 30 * time.Second
	askWithin    = 60 * time.Second
	dialWithin   = 5 * time.Second
	silentFor    = 30 * time.Second // a server sends an update each 10 s
	paramsWithin = 5 * time.Second
)

// reply is the answer to a request.
type response struct {
	Error  *Error          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Handler returns the handler of the private socket for a feed.
func Handler(l *Local) socket.Handler {
	var watchers atomic.Int32
	return func(ctx context.Context, p *socket.Peer) {
		op, params, err := readRequest(p)
		if err == nil && op == opWatch {
			if watchers.Add(1) <= maxWatchers {
				defer watchers.Add(-1)
				l.serve(ctx, p)
				return
			}
			watchers.Add(-1)
			err = &Error{http.StatusServiceUnavailable, fmt.Sprintf("%d consoles watch this server already", maxWatchers), "Close one of them."}
		}
		var r response
		if err == nil {
			_ = p.SetDeadline(time.Time{})
			ctx, cancel := context.WithTimeout(ctx, askWithin)
			defer cancel()
			r.Result, err = l.Ask(ctx, op, params)
		}
		if err != nil {
			r = response{Error: asError(err)}
		}
		_ = p.SetDeadline(time.Now().Add(sendWithin))
		_ = json.NewEncoder(p).Encode(r) // the peer may have gone
	}
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{http.StatusInternalServerError, plain.Line(err.Error()), "Try again."}
}

// readRequest reads the request of a peer.
func readRequest(p *socket.Peer) (op string, params json.RawMessage, err error) {
	if err := cmp.Or(p.Refused, p.Err); err != nil {
		return "", nil, &Error{http.StatusForbidden, plain.Line(err.Error()), "Start the console in a terminal of your own."}
	}
	words := strings.Fields(string(p.Line))
	if len(words) != 3 || words[0] != Word {
		return "", nil, Invalid("the message is not understood", "Use the same version of mcp-toolset for the console and the server.")
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 0 || n > maxParams {
		return "", nil, Invalid(fmt.Sprintf("a request has at most %d bytes", maxParams), "Make it shorter.")
	}
	params = make(json.RawMessage, n)
	_ = p.SetDeadline(time.Now().Add(paramsWithin))
	if _, err := io.ReadFull(p.Rest, params); err != nil {
		return "", nil, Invalid("the request is incomplete", "Try again.")
	}
	return words[1], params, nil
}

// serve sends updates to a peer until either side closes.
func (l *Local) serve(ctx context.Context, p *socket.Peer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = p.SetDeadline(time.Time{})
	go func() { // notices that the peer has gone
		_, _ = io.Copy(io.Discard, p.Rest)
		cancel()
	}()
	out := json.NewEncoder(p)
	_ = l.Watch(ctx, func(u Update) error {
		_ = p.SetWriteDeadline(time.Now().Add(sendWithin))
		return out.Encode(u)
	})
	_ = p.Close() // ends the goroutine
}

// Remote is the feed of another process. Folder is that of its private socket.
type Remote struct{ Folder string }

// ID returns the id of the server.
func (r Remote) ID() string { return strings.ToLower(filepath.Base(r.Folder)) }

// open connects and sends a request.
func (r Remote) open(ctx context.Context, op string, params json.RawMessage) (socket.Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conn, err := socket.Dial(dialing, r.Folder)
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(sendWithin))
	if _, err := conn.Write(append(fmt.Appendf(nil, "%s %s %d\n", Word, op, len(params)), params...)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Watch implements Source.
func (r Remote) Watch(ctx context.Context, send func(Update) error) error {
	conn, err := r.open(ctx, opWatch, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := bufio.NewReaderSize(conn, socket.MaxLine)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silentFor))
		line, err := readDocument(in)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &Error{http.StatusGatewayTimeout, "the server does not answer", "It may be stopped or busy; it is tried again."}
		case err != nil:
			return err
		}
		var u struct {
			Update
			Error   json.RawMessage `json:"error"`
			Refused string          `json:"refused"` // by a server without a feed
		}
		if err := json.Unmarshal(line, &u); err != nil {
			return fmt.Errorf("reading an update: %w", err)
		}
		switch {
		case u.Error != nil:
			e := &Error{}
			if err := json.Unmarshal(u.Error, e); err != nil {
				return fmt.Errorf("reading an error: %w", err)
			}
			return e
		case u.Refused != "":
			return tooOld
		}
		if u.Server != nil {
			u.Server.ID = r.ID()
		}
		if err := send(u.Update); err != nil {
			return err
		}
	}
}

var tooOld = &Error{http.StatusBadGateway, "the server is of an older version, which has no console", "Restart it with this version of mcp-toolset."}

// readDocument reads a line of up to maxDocument bytes.
func readDocument(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		if out = append(out, part...); len(out) > maxDocument {
			return nil, fmt.Errorf("an answer has more than %d bytes", maxDocument)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

// Ask implements Source.
func (r Remote) Ask(ctx context.Context, op string, params json.RawMessage) (json.RawMessage, error) {
	if len(params) > maxParams {
		return nil, Invalid(fmt.Sprintf("a request has at most %d bytes", maxParams), "Make it shorter.")
	}
	conn, err := r.open(ctx, op, params)
	if err != nil {
		return nil, gone(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(askWithin + sendWithin))
	line, err := readDocument(bufio.NewReaderSize(conn, socket.MaxLine))
	if err != nil {
		return nil, gone(err)
	}
	var a struct {
		response
		Refused string `json:"refused"`
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, gone(err)
	}
	switch {
	case a.Refused != "":
		return nil, tooOld
	case a.Error != nil:
		return nil, a.Error
	}
	return a.Result, nil
}

func gone(err error) *Error {
	return &Error{http.StatusNotFound, "the server does not answer: " + plain.Line(err.Error()), "It may have ended; look at the list of servers."}
}
