package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"
)

// Limits of HTTP serving.
const (
	maxBody    = 16 << 20 // bytes of one request
	maxHeader  = 16 << 10 // bytes of a request's header
	maxConns   = 2048     // open connections; more wait to be accepted
	maxStreams = 64       // concurrent requests of one HTTP/2 connection

	// sessionIdle ends a session nobody uses. It is far above the longest
	// call, because a call in progress does not count as use.
	sessionIdle = 4 * time.Hour
	// heartbeat keeps an open listening stream's session in use.
	heartbeat = time.Minute
	// maxSessions bounds memory; beyond it the session unused for longest ends.
	maxSessions = 1000
)

// timeouts bound what a slow client can hold on to.
type timeouts struct {
	header time.Duration // to send the header
	body   time.Duration // to send the body
	write  time.Duration // to take what is written at once
	idle   time.Duration // between requests of a connection
}

var defaultTimeouts = timeouts{header: 5 * time.Second, body: 30 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute}

// HTTP says how to serve HTTP.
type HTTP struct {
	Token        string   // bearer token; "" only with NoAuth
	NoAuth       bool     // loopback only: whoever reaches the port may call
	AllowOrigins []string // web origins that may call, as browsers send them
	AllowHosts   []string // names the server is reached by, beside loopback names and IP addresses
	TLS          *tls.Config
	Metrics      http.Handler // of /metrics, behind the token as all else; nil: there is none
}

// ServeHTTP serves clients of the listener until ctx ends, then lets calls in
// flight finish within the drain time.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, h HTTP) error {
	// Calls end when hard ends, listening streams already when soft does.
	hard, stopCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCalls()
	soft, stopStreams := context.WithCancel(hard)
	defer stopStreams()

	handler, closeSessions := s.httpHandler(soft, h, l.Addr())
	defer closeSessions()
	srv := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return hard },
		ReadHeaderTimeout: s.timeouts.header,
		IdleTimeout:       s.timeouts.idle,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         h.TLS,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          newHTTPLog(s.Log),
	}
	l = netutil.LimitListener(l, maxConns)
	served := make(chan error, 1)
	go func() {
		if h.TLS != nil {
			served <- srv.ServeTLS(l, "", "")
			return
		}
		served <- srv.Serve(l)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serving HTTP: %w", err)
	case <-ctx.Done():
	}
	stopStreams()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("calls cut off: the drain time is over")
		stopCalls()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		if err = srv.Shutdown(grace); err != nil {
			err = srv.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("stopping the HTTP server: %w", err)
	}
	return nil
}

// httpHandler is the whole of what is served: the guard around everything,
// then the library behind our request and response.
func (s *Server) httpHandler(streams context.Context, h HTTP, addr net.Addr) (handler http.Handler, closeSessions func()) {
	sessions := newSessions(s)
	transport := mcpserver.NewStreamableHTTPServer(s.mcp,
		mcpserver.WithSessionIdManager(sessions),
		mcpserver.WithSessionIdleTTL(sessionIdle),
		mcpserver.WithHeartbeatInterval(heartbeat),
		mcpserver.WithDisableLocalhostProtection(true), // the guard is stricter
		mcpserver.WithStreamableHTTPLogger(s.Log),
		mcpserver.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			s.attach(ctx, sessions)
			return ctx
		}),
	)
	sessions.transport = transport
	mux := http.NewServeMux()
	mux.Handle("/mcp", &endpoint{s: s, sessions: sessions, transport: transport, streams: streams})
	if h.Metrics != nil {
		mux.Handle("GET /metrics", h.Metrics)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not found; the MCP endpoint is /mcp", http.StatusNotFound)
	})
	return newGuard(h, addr, s.timeouts.body, mux), func() {
		stop, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		_ = transport.Shutdown(stop)
		sessions.closeAll()
	}
}

// attach gives a request, once the library has found its session, its
// conversation and its place. A request without a session is a conversation
// of its own, which remembers nothing.
func (s *Server) attach(ctx context.Context, sessions *sessions) {
	in := callFrom(ctx)
	in.conv = sessions.use(mcpserver.ClientSessionFromContext(ctx).SessionID())
	if in.method == string(mcp.MethodToolsCall) {
		in.ticket, _ = in.conv.lane.Arrive() // nil: handle says that there is no room
	}
}

// httpPrincipal is whom the token stands for. There is one token.
const httpPrincipal = "http"

// endpoint is /mcp: it reads and checks a message before the library does, and
// owns the response the library writes to.
type endpoint struct {
	s         *Server
	sessions  *sessions
	transport http.Handler
	streams   context.Context // ends when listening streams must
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := &incoming{}
	listening := r.Method == http.MethodGet
	if r.Method != http.MethodPost && !mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		// The library opens a session under any id a GET names.
		if fail := e.needSession(r); fail != nil {
			fail.write(w)
			return
		}
	}
	if r.Method == http.MethodPost {
		m, body, fail := readBody(w, r, e.s.timeouts.body)
		if fail != nil {
			fail.write(w)
			return
		}
		in.method, listening = m.method, m.method == string(mcp.MethodSubscriptionsListen)
		modern := m.modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
		if modern && m.isCancel() {
			// Without sessions the library finds the request by its id alone,
			// so one client could cancel another's.
			fail := &httpFailure{status: http.StatusBadRequest, rpc: &rpcError{
				code: mcp.INVALID_REQUEST, text: "to cancel a request in this protocol version, close its connection"}}
			fail.write(w)
			return
		}
		if !modern && m.method != string(mcp.MethodInitialize) {
			if fail := e.needSession(r); fail != nil {
				fail.write(w)
				return
			}
		}
		r.Body = body
	}
	ctx := withIncoming(r.Context(), in)
	if listening {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(e.streams, cancel)()
	}
	in.stream = newStream(w, in, e.s.timeouts.write)
	in.notify = in.stream.notify
	defer func() {
		if in.ticket != nil {
			in.ticket.Leave()
		}
		if in.conv != nil {
			e.sessions.done(in.conv)
		}
		if in.method == string(mcp.MethodInitialize) && !in.initialized {
			e.sessions.end(w.Header().Get(mcpserver.HeaderKeySessionID))
		}
	}()
	e.transport.ServeHTTP(in.stream, r.WithContext(ctx))
}

// needSession refuses a request without the id of an open session.
func (e *endpoint) needSession(r *http.Request) *httpFailure {
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	switch {
	case id == "":
		return &httpFailure{status: http.StatusBadRequest, text: "the header Mcp-Session-Id is missing; initialize first"}
	case !e.sessions.has(id):
		return &httpFailure{status: http.StatusNotFound, text: errNoSession.Error() + "; initialize first"}
	}
	return nil
}

// readBody reads a request's message within the limits of size and time.
func readBody(w http.ResponseWriter, r *http.Request, timeout time.Duration) (message, io.ReadCloser, *httpFailure) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(timeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return message{}, nil, &httpFailure{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is over %d MiB", maxBody>>20)}
	case err != nil:
		return message{}, nil, &httpFailure{status: http.StatusRequestTimeout, text: "the body did not arrive"}
	}
	_ = rc.SetReadDeadline(time.Time{}) // not before: the rest of a slow body must not be waited for
	m, bad := readMessage(body)
	if bad != nil {
		return m, nil, &httpFailure{status: http.StatusBadRequest, rpc: bad}
	}
	if m.method == string(mcp.MethodToolsCall) {
		body = quoteHuge(body)
	}
	return m, io.NopCloser(bytes.NewReader(body)), nil
}
