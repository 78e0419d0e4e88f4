package server

import (
	"io"
	"log"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/identity"
)

// guard checks each HTTP request before anything else handles it. It checks
// method, host, origin, token and content type, the cheapest first, before it
// reads any of the body. It wraps the whole mux, so every route is guarded. Only
// for triggers, a signature of the body may take the place of the token.
type guard struct {
	HTTP
	next    http.Handler
	any     bool          // listens beyond loopback, so any IP address is a valid host
	timeout time.Duration // for sending a body

	stopping <-chan struct{} // closed when the server ends; nil: never
	metadata http.Handler    // describes Resource

	mu       sync.Mutex
	failures map[string]*failures // by client address
}

// consolePath begins the paths that Console serves. metricsPath is the path of Metrics.
const consolePath, metricsPath = "/console", "/metrics"

func newGuard(h HTTP, addr net.Addr, timeout time.Duration, next http.Handler) *guard {
	g := &guard{HTTP: h, next: next, timeout: timeout, failures: map[string]*failures{}}
	host, _, _ := net.SplitHostPort(addr.String())
	ip, err := netip.ParseAddr(host)
	g.any = err == nil && !ip.IsLoopback()
	g.AllowHosts = slices.Clone(g.AllowHosts)
	if err == nil {
		g.AllowHosts = append(g.AllowHosts, ip.String())
	}
	g.metadata = describe(g.Resource)
	for i, h := range g.AllowHosts {
		g.AllowHosts[i] = strings.ToLower(h)
	}
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The deadline frees the connection of a client that announces a body and
	// does not send it, whatever the answer.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.timeout))
	origin := r.Header.Get("Origin")
	switch {
	case !g.hostAllowed(r.Host):
		refuse(w, "this host name is not served here; allow it with --allow-host", http.StatusForbidden)
		return
	case g.Console != nil && (r.URL.Path == consolePath || strings.HasPrefix(r.URL.Path, consolePath+"/")):
		if r.Method != http.MethodPost {
			_ = rc.SetReadDeadline(time.Time{}) // a stream may be long
		}
		g.Console.ServeHTTP(w, r)
		return
	case g.describes(r.URL.Path):
		g.metadata.ServeHTTP(w, r)
		return
	case !g.originAllowed(r, origin):
		refuse(w, "this origin may not call; allow it with --allow-origin", http.StatusForbidden)
		return
	}
	if origin != "" && slices.Contains(g.AllowOrigins, origin) {
		g.crossOrigin(w, origin)
	}
	switch r.Method {
	case http.MethodOptions:
		if origin == "" || w.Header().Get("Access-Control-Allow-Origin") == "" {
			refuse(w, "no cross-origin calls from here", http.StatusForbidden)
			return
		}
		closeAfterAnswer(w)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodPost, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	// A probe learns only that the server answers.
	if r.URL.Path == "/healthz" && r.Method == http.MethodGet {
		closeAfterAnswer(w)
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	if r.URL.Path == "/readyz" && r.Method == http.MethodGet {
		g.serveReady(w)
		return
	}
	if g.ending() {
		closeAfterAnswer(w)
		(&httpFailure{status: http.StatusServiceUnavailable, rpc: &rpcError{code: codeOverload, text: errEnding}}).write(w)
		return
	}
	if g.Triggers != nil && strings.HasPrefix(r.URL.Path, triggersPath) {
		// Any content type may be signed. Without a token no request is trusted.
		by, _ := g.find(r)
		if !by.May(identity.Write) {
			by = identity.Principal{}
		}
		defer g.Idle.enter()()
		refusal := g.Triggers.Serve(w, r, by.ID)
		if refusal != "" && !g.NoAuth {
			refusal += ", or the bearer token"
		}
		if refusal != "" {
			g.reject(w, r, &identity.Refusal{Status: http.StatusUnauthorized, Text: refusal, Challenge: `Bearer realm="mcp-toolset"`, Guess: true})
		}
		return
	}
	by, refusal := g.find(r)
	if refusal != nil {
		g.reject(w, r, refusal)
		return
	}
	if !g.NoAuth {
		r = r.WithContext(identity.With(r.Context(), by))
		g.dropTokens(r)
	}
	if r.Method == http.MethodPost {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			refuse(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
			refuse(w, "send the body without Content-Encoding", http.StatusUnsupportedMediaType)
			return
		}
	}
	if r.Method != http.MethodPost {
		_ = rc.SetReadDeadline(time.Time{}) // there is no body, and the stream may be long
	}
	if r.URL.Path != metricsPath {
		defer g.Idle.enter()()
	}
	g.next.ServeHTTP(w, r)
}

// errEnding is the answer to requests that arrive while the server waits for earlier ones.
const errEnding = "the server is ending; send this again when it is back"

// ending reports whether the server takes no new requests.
func (g *guard) ending() bool {
	select {
	case <-g.stopping:
		return true
	default:
		return false
	}
}

// refuse answers a request that is not handled further.
func refuse(w http.ResponseWriter, text string, status int) {
	closeAfterAnswer(w)
	http.Error(w, text, status)
}

// closeAfterAnswer closes the connection after the answer without waiting for the body.
// Otherwise net/http would read a part of it first.
func closeAfterAnswer(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
}

// hostAllowed protects against DNS rebinding: a foreign page whose name
// resolves to this server sends that name as host. The port does not matter for
// that.
func (g *guard) hostAllowed(host string) bool {
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return false // 127.0.0.1:80,evil.example
		}
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || slices.Contains(g.AllowHosts, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || g.any) // rebinding needs a name
}

// originAllowed refuses web pages of other origins. Other clients send no
// origin.
func (g *guard) originAllowed(r *http.Request, origin string) bool {
	if slices.Contains(g.AllowOrigins, origin) {
		return true
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return false
	}
	if origin == "" {
		return len(r.Header["Origin"]) == 0
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return strings.EqualFold(origin, scheme+"://"+r.Host) && len(r.Header["Origin"]) == 1
}

// crossOrigin lets an allowed page read answers.
func (g *guard) crossOrigin(w http.ResponseWriter, origin string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	h.Set("Access-Control-Max-Age", "600")
}

// A client address with more than failBurst failed attempts within failWindow
// gets status 429. A request with the right token is never refused, because
// many clients can share an address.
const (
	failBurst  = 20
	failWindow = time.Minute
	maxClients = 10_000 // addresses remembered
)

type failures struct {
	count int
	since time.Time
}

func (g *guard) reject(w http.ResponseWriter, r *http.Request, why *identity.Refusal) {
	if !why.Guess {
		writeRefusal(w, why)
		return
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	now := time.Now()
	g.mu.Lock()
	if len(g.failures) >= maxClients {
		clear(g.failures)
	}
	f := g.failures[client]
	if f == nil || now.Sub(f.since) > failWindow {
		f = &failures{since: now}
		g.failures[client] = f
	}
	f.count++
	tooMany := f.count > failBurst
	g.mu.Unlock()
	if tooMany {
		w.Header().Set("Retry-After", "60")
		refuse(w, "too many failed attempts", http.StatusTooManyRequests)
		return
	}
	writeRefusal(w, why)
}

// httpFailure is the answer to a request that does not reach the library.
type httpFailure struct {
	status int
	text   string
	rpc    *rpcError // used instead of text
}

func (f *httpFailure) write(w http.ResponseWriter) {
	if f.rpc == nil {
		refuse(w, f.text, f.status)
		return
	}
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", bodyRetry)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(append(f.rpc.encode(), '\n'))
}

// newHTTPLog sends the messages of net/http to the debug log. Most are about
// broken clients.
func newHTTPLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
