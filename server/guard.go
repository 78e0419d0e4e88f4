package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// guard is what every HTTP request passes first, cheapest check first, all of
// it before a byte of the body is read: method, host, origin, token, content
// type. It wraps the whole mux, so no route can be added outside it.
type guard struct {
	HTTP
	want    [sha256.Size]byte
	next    http.Handler
	any     bool          // bound to every address: reached by any IP address
	timeout time.Duration // to send a body

	mu       sync.Mutex
	failures map[string]*failures // by client address
}

func newGuard(h HTTP, addr net.Addr, timeout time.Duration, next http.Handler) *guard {
	g := &guard{HTTP: h, want: sha256.Sum256([]byte(h.Token)), next: next, timeout: timeout, failures: map[string]*failures{}}
	host, _, _ := net.SplitHostPort(addr.String())
	ip, err := netip.ParseAddr(host)
	g.any = err == nil && !ip.IsLoopback()
	g.AllowHosts = slices.Clone(g.AllowHosts)
	if err == nil {
		g.AllowHosts = append(g.AllowHosts, ip.String())
	}
	for i, h := range g.AllowHosts {
		g.AllowHosts[i] = strings.ToLower(h)
	}
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A client that announces a body and does not send it holds nothing for
	// long, whatever it is answered.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(g.timeout))
	origin := r.Header.Get("Origin")
	switch {
	case !g.hostAllowed(r.Host):
		refuse(w, "this host name is not served here; allow it with --allow-host", http.StatusForbidden)
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
		hangUp(w)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodPost, http.MethodDelete:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	// A probe says nothing about the server but that it answers.
	if r.URL.Path == "/healthz" && r.Method == http.MethodGet {
		hangUp(w)
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	if !g.NoAuth && !g.authentic(r) {
		g.reject(w, r)
		return
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
	g.next.ServeHTTP(w, r)
}

// refuse answers a request that goes no further.
func refuse(w http.ResponseWriter, text string, status int) {
	hangUp(w)
	http.Error(w, text, status)
}

// hangUp closes the connection behind the answer, without waiting for a body:
// net/http would read some of it first.
func hangUp(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
}

// hostAllowed guards against DNS rebinding: a foreign page whose name suddenly
// points here sends that name. The port does not matter for that.
func (g *guard) hostAllowed(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || slices.Contains(g.AllowHosts, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || g.any) // rebinding needs a name
}

// originAllowed refuses web pages of other origins; other clients send none.
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
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id")
	h.Set("Access-Control-Max-Age", "600")
}

// maxToken is the longest Authorization header looked at, in bytes.
const maxToken = 4096

// authentic reports whether the request carries the token. Hashes are
// compared, so neither content nor length shows in the time taken.
func (g *guard) authentic(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 || len(given[0]) > maxToken {
		return false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// A client that keeps failing is told to slow down after failBurst attempts,
// which come back over failWindow. The right token is never refused: many
// clients can share an address.
const (
	failBurst  = 20
	failWindow = time.Minute
	maxClients = 10_000 // addresses remembered
)

type failures struct {
	count int
	since time.Time
}

func (g *guard) reject(w http.ResponseWriter, r *http.Request) {
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
	w.Header().Set("WWW-Authenticate", `Bearer realm="mcp-toolset"`)
	refuse(w, "a bearer token is required: Authorization: Bearer TOKEN", http.StatusUnauthorized)
}

// httpFailure answers a request that never reaches the library.
type httpFailure struct {
	status int
	text   string
	rpc    *rpcError // instead of text
}

func (f *httpFailure) write(w http.ResponseWriter) {
	if f.rpc == nil {
		refuse(w, f.text, f.status)
		return
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", bodyRetry)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(append(f.rpc.encode(), '\n'))
}

// newHTTPLog sends what net/http has to say, mostly about broken clients, to
// the debug log.
func newHTTPLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
