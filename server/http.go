package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"golang.org/x/net/netutil"

	"mcp-toolset/internal/host"
	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
)

// Limits of HTTP serving.
const (
	maxHeader  = 32 << 10  // bytes of a request's header
	maxConns   = 2048      // open connections; more wait to be accepted
	maxStreams = 64        // concurrent requests of one HTTP/2 connection
	maxUnread  = 128 << 10 // bytes of unread bodies that an HTTP/2 connection buffers

	// sessionIdle is the time after which an unused session ends. It is far
	// longer than the longest call, because the library does not count a call
	// in progress as use.
	sessionIdle = 4 * time.Hour
	// heartbeat is the interval by which an open listening stream marks its
	// session as used.
	heartbeat = time.Minute
	// maxSessions limits memory, of sessions and of those of handles each, where all have one
	// principal; sessionsEach, for each of several. Beyond it the principal's least recently used
	// session ends.
	maxSessions, sessionsEach = 1000, 100
)

// timeouts limit how long a slow client can hold resources.
type timeouts struct {
	header time.Duration // for sending the header
	body   time.Duration // for sending the body
	write  time.Duration // for receiving one write
	idle   time.Duration // between requests of a connection
	grace  time.Duration // for which a listening stream outlives the token of its request
}

var defaultTimeouts = timeouts{header: 5 * time.Second, body: 30 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, grace: time.Minute}

// HTTP holds the settings of the HTTP transport.
type HTTP struct {
	Users        identity.Authenticator // finds the principals of requests; nil only with NoAuth
	Operator     identity.Source        // finds whoever may read Metrics; nil: all of Users
	Resource     *identity.Resource     // is described to clients of identity providers; nil: there are none
	Ready        func() error           // says why no new work is accepted; it may be nil
	NoAuth       bool                   // for loopback only: every program that reaches the port may call
	AllowOrigins []string               // web origins that may call, as browsers send them
	AllowHosts   []string               // host names of the server, besides loopback names and IP addresses
	TLS          *tls.Config
	Metrics      http.Handler // handler of /metrics; may be nil
	Console      http.Handler // handler of the paths below /console, which checks all except the host; may be nil
	Triggers     Triggers     // serves the paths below /events/; may be nil
	Behind       *Behind      // serves the requests of a front, which has checked them; nil: those of clients
}

// Triggers serves requests that have a signature in place of the token.
type Triggers interface {
	// Serve serves a request. principal is the ID of its principal; "" if it has no token. If
	// the request has neither a token nor a valid signature, Serve does not answer: it returns the
	// text for an answer with status 401, which is the same for every name. Otherwise it returns "".
	Serve(w http.ResponseWriter, r *http.Request, principal string) (refusal string)
}

// triggersPath begins the paths that Triggers serves.
const triggersPath = "/events/"

// ServeHTTP serves the listener until ctx ends. It then waits for calls in
// progress, at most for the drain time.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, h HTTP) error {
	// Calls end with hard; listening streams end earlier, with soft.
	hard, stopCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCalls()
	soft, stopStreams := context.WithCancel(hard)
	defer stopStreams()

	handler, stopRequests, closeSessions := s.httpHandler(soft, h, l.Addr())
	defer closeSessions()
	srv := newHTTPServer(hard, handler, h, s.timeouts, s.Log)
	go s.endIdle(soft)
	return serveUntil(ctx, srv, l, h.TLS != nil, s.Drain, s.Log, stopStreams, stopRequests, stopCalls)
}

func newHTTPServer(base context.Context, handler http.Handler, h HTTP, t timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: t.header,
		IdleTimeout:       t.idle,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         h.TLS,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
		},
		ErrorLog: newHTTPLog(log),
	}
}

// serveUntil serves a listener until ctx ends, and then stops streams at once, and after the drain
// time requests and calls.
func serveUntil(ctx context.Context, srv *http.Server, l net.Listener, tls bool, most time.Duration, log *slog.Logger, stopStreams, stopRequests, stopCalls func()) error {
	l = netutil.LimitListener(l, maxConns)
	served := make(chan error, 1)
	go func() {
		if tls {
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
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("calls cut off: the drain time is over")
		stopRequests()
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

// httpHandler returns the handler for all requests: the guard around
// everything, and the library behind our own reading and writing.
func (s *Server) httpHandler(streams context.Context, h HTTP, addr net.Addr) (handler http.Handler, stopRequests, closeSessions func()) {
	sessions := newSessions(s)
	s.httpSessions.Store(sessions)
	transport := mcpserver.NewStreamableHTTPServer(s.mcp,
		mcpserver.WithSessionIdManager(sessions),
		mcpserver.WithSessionIdleTTL(sessionIdle),
		mcpserver.WithHeartbeatInterval(heartbeat),
		mcpserver.WithDisableLocalhostProtection(true), // the guard is stricter
		mcpserver.WithStreamableHTTPLogger(s.Log),
		mcpserver.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			sessions.attach(callFrom(ctx), mcpserver.ClientSessionFromContext(ctx).SessionID())
			return ctx
		}),
	)
	sessions.transport = transport
	mux := http.NewServeMux()
	serve := func(path string, p *session.Profile) {
		mux.Handle(path, &endpoint{s: s, sessions: sessions, transport: transport, bodies: s.bodies, profile: p, streams: streams})
	}
	serve("/mcp", s.Profile)
	var names []string
	for _, p := range s.Profiles {
		serve("/mcp/"+p.Name, p)
		names = append(names, p.Name)
	}
	if len(names) > 0 {
		mux.HandleFunc("/mcp/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "there is no such profile; there are "+strings.Join(names, ", "), http.StatusNotFound)
		})
	}
	if h.Metrics != nil {
		mux.Handle("GET "+metricsPath, h.Metrics)
	}
	mux.HandleFunc("/", notFound)
	if h.Behind != nil {
		handler = h.passedOn(mux)
	} else {
		g := newGuard(h, addr, s.timeouts.body, mux)
		g.stopping = streams.Done()
		handler = g
	}
	return handler, sessions.stopAll, func() {
		stop, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		_ = transport.Shutdown(stop)
		sessions.closeAll()
	}
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "not found; the MCP endpoint is /mcp", http.StatusNotFound)
}

// EndPrincipals ends the sessions and requests of principals for which valid returns false.
func (s *Server) EndPrincipals(valid func(identity.Principal) bool) {
	if m := s.httpSessions.Load(); m != nil {
		m.endOf(valid)
	}
}

// limitOf returns the limit of a principal's sessions, which is also the limit of sessions of handles.
func (s *Server) limitOf(principal string) int {
	if s.Sessions > 0 {
		return s.Sessions
	}
	if principal == identity.Default {
		return maxSessions
	}
	return sessionsEach
}

// endpoint serves /mcp, or /mcp/NAME for the profile with a name. It reads and checks a
// message before the library does, and owns the response that the library writes to.
type endpoint struct {
	s         *Server
	sessions  *sessions
	transport *mcpserver.StreamableHTTPServer
	bodies    *bodyBudget
	profile   *session.Profile // of its sessions; nil: all tools
	streams   context.Context  // ends when listening streams must end
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var (
		m    message
		data []byte
	)
	if r.Method == http.MethodPost {
		b, fail := readBody(w, r, e.bodies, e.s.timeouts.body)
		defer b.release()
		if fail == nil {
			m, data, fail = e.readPost(b)
		}
		if fail != nil {
			fail.write(w)
			return
		}
	}
	if lacks := e.lackedScope(r, m); lacks != "" {
		writeRefusal(w, identity.From(r.Context()).Insufficient(lacks))
		return
	}
	modern := m.modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if modern && m.isCancel() {
		// Without sessions the library finds the request by its id alone, so
		// one client could cancel a request of another.
		fail := &httpFailure{status: http.StatusBadRequest, rpc: &rpcError{
			code: mcp.INVALID_REQUEST, text: "to cancel a request in this protocol version, close its connection"}}
		fail.write(w)
		return
	}
	if m.method == string(mcp.MethodServerDiscover) && host.Of(m.client).Forgets {
		// It goes on with initialize, and has a session.
		fail := &httpFailure{status: http.StatusOK, rpc: &rpcError{
			code: mcp.METHOD_NOT_FOUND, text: "this server keeps what a client does in a session: begin with initialize", id: m.rawID}}
		fail.write(w)
		return
	}
	session := ""
	if m.method == string(mcp.MethodInitialize) {
		idle, full := e.sessions.full(identity.From(r.Context()).ID)
		if full && idle == "" {
			fail := &httpFailure{status: http.StatusTooManyRequests, rpc: &rpcError{code: codeLimit, text: errSessions, id: m.rawID}}
			fail.write(w)
			return
		}
		if full {
			e.sessions.end(idle)
		}
	} else if !modern {
		// The library opens a session for any id in a GET.
		var fail *httpFailure
		if session, fail = e.needSession(r); fail != nil {
			fail.write(w)
			return
		}
		if r.Method == http.MethodPost && m.method == "" {
			// The library would look for it among its own requests, but it has
			// none.
			e.sessions.answered(session, m)
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	e.serve(w, r, m, data, session)
}

// readPost reads the message of a POST. data is the message for the library.
func (e *endpoint) readPost(b *body) (m message, data []byte, fail *httpFailure) {
	if len(b.data) > smallBody {
		e.bodies.parsing <- struct{}{}
		defer func() { <-e.bodies.parsing }()
	}
	m, bad := readMessage(b.data)
	switch {
	case bad != nil:
		return m, nil, &httpFailure{status: http.StatusBadRequest, rpc: bad}
	case m.method == string(mcp.MethodToolsCall):
		data, m.apart = withoutArguments(b.data, m)
		return m, quoteHuge(data), nil
	case m.isCancel():
		return m, []byte(noCancel), nil
	}
	return m, b.data, nil
}

// noCancel replaces a cancel for the library. The server handles cancels
// itself, because the library does not know queued requests and does not
// distinguish "1" from 1.
const noCancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`

// serve lets the library serve a request with the message data. If session is
// not empty, it must be open, or the request is refused.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request, m message, data []byte, session string) {
	in := &incoming{by: identity.From(r.Context()), method: m.method, profile: e.profile, handle: m.handle, agent: m.agent, arguments: m.apart}
	if e.s.isSkillMethod(m) {
		in.extra = sync.OnceValue(func() []byte { return e.s.skillAnswer(m, data) })
	}
	ctx, cancel := context.WithCancelCause(withIncoming(r.Context(), in))
	defer cancel(nil)
	req := &httpRequest{cancel: cancel, serverStream: r.Method == http.MethodGet}
	if m.method != "" {
		req.id = m.id
	}
	if r.Method == http.MethodDelete {
		session = "" // a DELETE is not part of the session it ends
	}
	if err := e.sessions.enter(in, req, session); err != nil {
		noSession().write(w)
		return
	}
	defer func() {
		e.sessions.leave(in)
		if in.method == string(mcp.MethodInitialize) && !in.initialized {
			e.sessions.end(in.stream.Header().Get(mcpserver.HeaderKeySessionID))
		}
	}()
	if req.serverStream || m.method == string(mcp.MethodSubscriptionsListen) {
		defer context.AfterFunc(e.streams, func() { cancel(nil) })()
		if !in.by.Until.IsZero() {
			// The client opens another one with the token that it has by then.
			defer time.AfterFunc(time.Until(in.by.Until)+e.s.timeouts.grace, func() { cancel(nil) }).Stop()
		}
	}
	if m.isCancel() {
		e.sessions.cancelIn(req.session, m.cancels, m.cause)
	}
	in.stream = newStream(w, in, e.s.timeouts.write)
	in.stream.answer = func() bool { return e.sessions.answer(req) }
	in.stream.mayWrite = func() bool { return e.sessions.mayWrite(req) }
	in.notify, in.send, in.closed = in.stream.notify, in.stream.send, e.streams.Done()
	if in.stream.mayWrite() {
		e.transport.Handle(in.stream, &mcpserver.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: data, Context: ctx})
	}
	if m.id != "" && e.sessions.wasStopped(req) {
		in.stream.fail(&rpcError{code: codeOverload, text: errCutOff, id: m.rawID})
	}
	in.stream.end()
	if ctx.Err() != nil {
		in.lost()
	}
}

// errSessions is the answer to a client that would open one session too many.
const errSessions = "each session of this user has a call in progress, and there can be no more sessions; try again when one has ended"

// errCutOff is the answer to a request in progress when the server ends.
const errCutOff = "the server was stopped before this was done; look at what is done before sending it again"

// needSession returns the id of a request's open session, or the failure if
// there is none.
func (e *endpoint) needSession(r *http.Request) (string, *httpFailure) {
	id := r.Header.Get(mcpserver.HeaderKeySessionID)
	open := e.sessions.open
	if r.Method == http.MethodDelete {
		open = e.sessions.willEnd
	}
	switch {
	case id == "":
		return "", &httpFailure{status: http.StatusBadRequest, text: "the header Mcp-Session-Id is missing; initialize first"}
	case !open(id, identity.From(r.Context())):
		return "", noSession()
	}
	return id, nil
}

func noSession() *httpFailure {
	return &httpFailure{status: http.StatusNotFound, text: errNoSession.Error() + "; initialize first"}
}
