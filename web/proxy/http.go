package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// proxyURL is the next step for a client that does not use the proxy as one.
const proxyURL = "Send requests as to a proxy: CONNECT host:port, or GET http://host/path."

// http serves the requests of a connection, which it closes.
func (p *proxy) http(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	c := &client{proxy: p, ctx: ctx, dials: semaphore.NewWeighted(math.MaxInt64), ended: make(chan struct{})}
	errorLog := slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug)
	// Connections to servers end with that of the client, so that a later client is judged anew.
	transport := &http.Transport{
		DialContext: c.dial, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
		ExpectContinueTimeout: time.Second, // as in http.DefaultTransport, like those of the proxy
	}
	c.forward = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: transport, FlushInterval: -1, ErrorLog: errorLog,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { respond(w, broken(r, err)) },
	}
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders, ErrorLog: errorLog,
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				close(c.ended)
			}
		},
	}
	_ = server.Serve(&single{conn: conn, ended: c.ended})
	c.serving.Lock() // after a Hijack, the handler goes on
	defer c.serving.Unlock()
	cancel()
	transport.CloseIdleConnections()
	_ = c.dials.Acquire(context.Background(), math.MaxInt64)
}

// single is a listener with one connection.
type single struct {
	conn  net.Conn
	ended chan struct{}
}

// Accept returns the connection, and fails after it has ended.
func (l *single) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return &net.UnixAddr{} }

// client handles the requests of one connection, one at a time.
type client struct {
	*proxy
	ctx     context.Context     // ends with the connection
	dials   *semaphore.Weighted // taken while the transport dials; full after the end
	ended   chan struct{}       // closed when the server is done with the connection
	serving sync.Mutex
	forward *httputil.ReverseProxy
}

func (c *client) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.serving.Lock()
	defer c.serving.Unlock()
	refuse := func(fact, next string) {
		w.Header().Set("Connection", "close")
		respond(w, &failure{Fault: fault.New(fact, next), status: http.StatusBadRequest})
	}
	switch {
	case r.ProtoMajor != 1:
		refuse("this proxy does not speak HTTP/2", "Use HTTP/1.1 to the proxy; a CONNECT tunnel takes any protocol.")
	case r.Method == http.MethodConnect:
		c.connectTunnel(w, r)
	case !r.URL.IsAbs() || r.URL.Host == "":
		refuse("this is a proxy, not a web server", proxyURL)
	case r.URL.Scheme != "http":
		refuse(plain.Quote(r.URL.Scheme)+" URLs are not forwarded", proxyURL)
	default:
		if _, f := siteOf(r.URL.Hostname(), portOf(r)); f != nil {
			c.report(site.Site{}, f)
			respond(w, f)
			return
		}
		_ = http.NewResponseController(w).EnableFullDuplex() // a server may answer before it has read the request
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		c.forward.ServeHTTP(w, r)
	}
}

// portOf returns the port of a request for an http URL.
func portOf(r *http.Request) string {
	if port := r.URL.Port(); port != "" {
		return port
	}
	return "80"
}

// rewrite undoes the changes that ReverseProxy makes for servers that know it.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
}

// dial connects to a server for the transport.
func (c *client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if !c.dials.TryAcquire(1) {
		return nil, net.ErrClosed
	}
	defer c.dials.Release(1)
	ctx, cancel := context.WithCancel(ctx) // which does not end with the request
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	s, f := siteOf(host, port)
	if f != nil {
		return nil, f
	}
	conn, f := c.connect(ctx, s)
	if f != nil {
		return nil, f
	}
	return conn, nil
}

// broken returns the failure for an error of the transport. Except for those of dial, it may
// quote the server.
func broken(r *http.Request, err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	fact := "has closed the connection without an answer"
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"):
		fact = fmt.Sprintf("has sent more than %d KiB of headers", maxHeaders>>10)
	case strings.Contains(text, "malformed"), strings.Contains(text, "transport connection broken"):
		fact = "has sent a response that is not valid HTTP"
	}
	s, _ := siteOf(r.URL.Hostname(), portOf(r))
	return &failure{Fault: fault.New(s.String()+" "+fact, again), status: http.StatusBadGateway}
}

// respond sends a failure as the response to a request. The response breaks off, a byte before
// the end that it announces: curl and others take any whole response for one of the server, and
// end with success.
func respond(w http.ResponseWriter, f *failure) {
	text := f.text() + "\n"
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, text) // net/http closes the connection after too few bytes
}

// connectTunnel answers a CONNECT request.
func (c *client) connectTunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.URL.Host)
	if err != nil {
		host, port = r.URL.Host, ""
	}
	var server net.Conn
	s, f := siteOf(host, port)
	if f != nil {
		c.report(site.Site{}, f)
	} else if server, f = c.connect(r.Context(), s); f == nil {
		defer server.Close()
	}
	hijacked, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client has left
	}
	conn := hijacked.(*prefixed).Conn
	defer conn.Close()
	if f != nil {
		answer(conn, f)
		return
	}
	_, err = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err == nil && len(early) > 0 {
		_, err = server.Write(early)
	}
	if err == nil {
		tunnel(c.ctx, conn, server)
	}
}
