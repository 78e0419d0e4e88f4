package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/plain"
)

// The limits of serving.
const (
	maxBodies  = 64              // bodies being read at once, of requests with a token and of others each
	maxOfHost  = 16              // of these, of requests without a token from one address
	bodyTime   = 3 * time.Second // until a body of 64 KiB has arrived
	headerTime = 5 * time.Second
	maxHeader  = 16 << 10    // bytes
	maxConns   = 64          // of the port of a registry
	retryBody  = time.Second // Retry-After if too many bodies are being read
	retryLater = time.Minute // and if no session or file takes the event of a durable trigger
)

// Unsigned is the text that Serve returns if the signature is missing or wrong.
const Unsigned = "missing or wrong signature; send " + Header + ": sha256=HEX, the HMAC-SHA-256 of the body with the secret of the trigger"

// Serve serves a request whose path begins with Path. principal is the ID of the principal whose
// triggers need no signature; "" for none. If the signature is missing or wrong, or no trigger has
// the name, Serve does not answer: it returns the text for an answer with status 401. Otherwise it
// returns "".
func (r *Registry) Serve(w http.ResponseWriter, req *http.Request, principal string) (refusal string) {
	sum, signed := signature(req)
	trusted := principal != ""
	switch {
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		refuse(w, "method not allowed; send POST", http.StatusMethodNotAllowed)
		return ""
	case !signed && !trusted:
		return Unsigned
	case req.ContentLength > MaxBody:
		refuse(w, tooLarge, http.StatusRequestEntityTooLarge)
		return ""
	}
	if enc := req.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		refuse(w, "send the body without Content-Encoding", http.StatusUnsupportedMediaType)
		return ""
	}
	body, ok := r.read(w, req, trusted)
	if !ok {
		return ""
	}
	name := strings.TrimPrefix(req.URL.Path, Path)
	t, err := r.find(name, body, sum, principal)
	switch {
	case t == nil && err != nil:
		refuseFor(w, retryLater, "the durable triggers of this server cannot be read; try again later", http.StatusServiceUnavailable)
		return ""
	case t == nil && trusted:
		refuse(w, Unknown(name), http.StatusNotFound)
		return ""
	case t == nil:
		return Unsigned
	}
	switch status, wait := r.deliver(t, body); status {
	case http.StatusTooManyRequests:
		refuseFor(w, wait, fmt.Sprintf("more than %d requests in a minute to this trigger", maxRate), status)
	case http.StatusServiceUnavailable:
		refuseFor(w, wait, "there is no session for the events of this trigger now; try again later", status)
	default:
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "accepted\n")
	}
	return ""
}

// Unknown returns the text for a name that no trigger of a principal has.
func Unknown(name string) string { return "there is no trigger " + plain.Key(name) }

var tooLarge = fmt.Sprintf("the body has more than %d bytes", MaxBody)

// signature returns the signature of a request, which must have exactly one.
func signature(req *http.Request) (sum []byte, ok bool) {
	given := req.Header.Values(Header)
	if len(given) != 1 || len(given[0]) != len("sha256=")+2*sha256.Size {
		return nil, false
	}
	digits, ok := strings.CutPrefix(given[0], "sha256=")
	sum, err := hex.DecodeString(digits)
	return sum, ok && err == nil
}

// read reads a body. It answers and returns false if that fails.
func (r *Registry) read(w http.ResponseWriter, req *http.Request, trusted bool) (body []byte, ok bool) {
	from := "" // of all requests with a token
	if !trusted {
		if from, _, _ = net.SplitHostPort(req.RemoteAddr); from == "" {
			from = "unknown"
		}
	}
	if !r.bodies.enter(from) {
		refuseFor(w, retryBody, "too many requests at once", http.StatusServiceUnavailable)
		return nil, false
	}
	defer r.bodies.leave(from)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(io.LimitReader(req.Body, MaxBody+1))
	switch {
	case len(body) > MaxBody:
		refuse(w, tooLarge, http.StatusRequestEntityTooLarge)
	case err != nil:
		refuse(w, "the body did not arrive as a whole within 3 s", http.StatusBadRequest)
	default:
		return body, true
	}
	return nil, false
}

// bodies counts the bodies that are being read, by address; "" stands for requests with a token.
type bodies struct {
	mu  sync.Mutex
	of  map[string]int
	all int // without those with a token
}

// enter reports whether one more body from an address may be read. If so, leave ends it.
func (b *bodies) enter(from string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if from == "" && b.of[from] >= maxBodies || from != "" && (b.all >= maxBodies || b.of[from] >= maxOfHost) {
		return false
	}
	if b.of[from]++; from != "" {
		b.all++
	}
	return true
}

func (b *bodies) leave(from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[from]--; b.of[from] == 0 {
		delete(b.of, from)
	}
	if from != "" {
		b.all--
	}
}

// find returns the trigger for a request, or nil if there is none or the request may not
// use it. It takes the same time for an unknown name as for a wrong signature. The error is
// that of the file.
func (r *Registry) find(name string, body, sum []byte, principal string) (found *trigger, err error) {
	r.mu.Lock()
	err = r.load()
	named := [...]*trigger{r.all[name], r.stored[name]} // another server may have made the second
	r.mu.Unlock()
	for _, t := range named {
		key := r.decoy
		if t != nil {
			key = []byte(t.secret)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		if signed := hmac.Equal(mac.Sum(nil), sum); t != nil && found == nil && (signed || principal != "" && principal == t.principal()) {
			found = t
		}
	}
	return found, err
}

// deliver makes an event of a body. It returns the status of the answer and, if that is no
// success, the time until the request may be sent again.
func (r *Registry) deliver(t *trigger, body []byte) (status int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock() // held until the event is added: none follows the end of the session
	if !t.durable && r.all[t.name] != t {
		return http.StatusAccepted, 0 // deleted meanwhile, as if the request had come before
	}
	now, owner := time.Now(), t.owner
	if t.durable {
		var ok bool
		if owner, ok = r.receiver(t, now); !ok {
			return http.StatusServiceUnavailable, retryLater
		}
	}
	if len(t.latest) == maxRate {
		if wait := rateTime - now.Sub(t.latest[0]); wait > 0 {
			return http.StatusTooManyRequests, wait
		}
		t.latest = append(t.latest[:0], t.latest[1:]...)
	}
	t.latest = append(t.latest, now)
	t.count++
	e := event.Event{Source: "trigger " + t.name, Text: strings.ToValidUTF8(string(body), "\uFFFD"), Data: true}
	if len(body) == 0 {
		e.Text, e.Data = "a request without a body arrived", false
	}
	r.events.Add(owner, e)
	return http.StatusAccepted, 0
}

// refuseFor is refuse for a request that may be sent again after some time.
func refuseFor(w http.ResponseWriter, wait time.Duration, text string, status int) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	refuse(w, text, status)
}

// refuse answers a request and closes its connection without waiting for the body.
func refuse(w http.ResponseWriter, text string, status int) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	http.Error(w, text, status)
}

// listener serves the port of a registry.
type listener struct {
	net.Listener
	server *http.Server
	done   chan struct{} // closed when no connection is accepted any more
}

// serve serves a port until it is closed.
func (r *Registry) serve(l net.Listener) *listener {
	served := &listener{Listener: l, done: make(chan struct{}), server: &http.Server{
		Handler:           http.HandlerFunc(r.serveHTTP),
		ReadHeaderTimeout: headerTime, ReadTimeout: headerTime + bodyTime, WriteTimeout: headerTime + 2*bodyTime, IdleTimeout: bodyTime,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
	}}
	go func() {
		defer close(served.done)
		if err := served.server.Serve(netutil.LimitListener(l, maxConns)); !errors.Is(err, http.ErrServerClosed) {
			_ = l.Close()
		}
	}()
	return served
}

// close closes the port and its connections.
func (l *listener) close() {
	_ = l.server.Close()
	_ = l.Close() // Serve may not have got to it yet
	<-l.done
}

// serveHTTP serves the port of a registry, where every request needs a signature.
func (r *Registry) serveHTTP(w http.ResponseWriter, req *http.Request) {
	if !strings.HasPrefix(req.URL.Path, Path) {
		refuse(w, "not found; triggers are at "+Path+"NAME", http.StatusNotFound)
		return
	}
	if refusal := r.Serve(w, req, ""); refusal != "" {
		w.Header().Set("WWW-Authenticate", `HMAC-SHA256 realm="mcp-toolset"`)
		refuse(w, refusal, http.StatusUnauthorized)
	}
}
