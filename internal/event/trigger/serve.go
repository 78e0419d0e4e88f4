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
	"time"

	"golang.org/x/net/netutil"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/plain"
)

// The limits of serving.
const (
	maxBodies  = 64 // bodies being read at once
	bodyTime   = 10 * time.Second
	headerTime = 5 * time.Second
	maxHeader  = 16 << 10 // bytes
	maxConns   = 64       // of the port of a registry
	retryBody  = "1"      // Retry-After, in seconds, if too many bodies are being read
)

// unsigned answers, with status 401, a request that Serve refuses.
const unsigned = "missing or wrong signature; send " + Header + ": sha256=HEX, the HMAC-SHA-256 of the body with the secret of the trigger"

// Serve serves a request whose path begins with Path. trusted reports whether the request
// needs no signature. Serve returns false and has not answered if the signature is missing or
// wrong, or no trigger has the name; the caller then answers with status 401.
func (r *Registry) Serve(w http.ResponseWriter, req *http.Request, trusted bool) (authentic bool) {
	sum, signed := signature(req)
	switch {
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		refuse(w, "method not allowed; send POST", http.StatusMethodNotAllowed)
		return true
	case !signed && !trusted:
		return false
	case req.ContentLength > MaxBody:
		refuse(w, tooLarge, http.StatusRequestEntityTooLarge)
		return true
	}
	if enc := req.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		refuse(w, "send the body without Content-Encoding", http.StatusUnsupportedMediaType)
		return true
	}
	body, ok := r.read(w, req)
	if !ok {
		return true
	}
	name := strings.TrimPrefix(req.URL.Path, Path)
	t := r.find(name, body, sum, trusted)
	switch {
	case t == nil && trusted:
		refuse(w, "there is no trigger "+plain.Key(name), http.StatusNotFound)
		return true
	case t == nil:
		return false
	}
	if wait := r.deliver(t, body); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		refuse(w, fmt.Sprintf("more than %d requests in a minute to this trigger", maxRate), http.StatusTooManyRequests)
		return true
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "accepted\n")
	return true
}

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
func (r *Registry) read(w http.ResponseWriter, req *http.Request) (body []byte, ok bool) {
	select {
	case r.bodies <- struct{}{}:
		defer func() { <-r.bodies }()
	default:
		w.Header().Set("Retry-After", retryBody)
		refuse(w, "too many requests at once", http.StatusServiceUnavailable)
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(io.LimitReader(req.Body, MaxBody+1))
	switch {
	case len(body) > MaxBody:
		refuse(w, tooLarge, http.StatusRequestEntityTooLarge)
	case err != nil:
		refuse(w, "the body did not arrive as a whole within 10 s", http.StatusBadRequest)
	default:
		return body, true
	}
	return nil, false
}

// find returns the trigger for a request, or nil if there is none or the request may not
// use it. It takes the same time for an unknown name as for a wrong signature.
func (r *Registry) find(name string, body, sum []byte, trusted bool) *trigger {
	r.mu.Lock()
	r.prune(time.Now())
	t := r.all[name]
	r.mu.Unlock()
	key := r.decoy
	if t != nil {
		key = []byte(t.secret)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	if !hmac.Equal(mac.Sum(nil), sum) && !trusted {
		return nil
	}
	return t
}

// deliver makes an event of a body. If the trigger has had too many, it returns the time
// until it accepts another one.
func (r *Registry) deliver(t *trigger, body []byte) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock() // held until the event is added: none follows the end of the session
	if r.all[t.name] != t {
		return 0 // deleted meanwhile, as if the request had come before
	}
	now := time.Now()
	if len(t.latest) == maxRate {
		if wait := rateTime - now.Sub(t.latest[0]); wait > 0 {
			return wait
		}
		t.latest = append(t.latest[:0], t.latest[1:]...)
	}
	t.latest = append(t.latest, now)
	t.count++
	e := event.Event{Source: "trigger " + t.name, Text: strings.ToValidUTF8(string(body), "\uFFFD"), Data: true}
	if len(body) == 0 {
		e.Text, e.Data = "a request without a body arrived", false
	}
	r.events.Add(t.owner, e)
	return 0
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
	if !r.Serve(w, req, false) {
		w.Header().Set("WWW-Authenticate", `HMAC-SHA256 realm="mcp-toolset"`)
		refuse(w, unsigned, http.StatusUnauthorized)
	}
}
