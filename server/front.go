package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"mcp-toolset/internal/identity"
)

// Front passes requests on to the servers of workspaces. read returns the complete body of a request,
// or answers and returns false.
type Front interface {
	// Serve serves a request that the guard let through, with the path /mcp or below.
	Serve(w http.ResponseWriter, r *http.Request, read func() ([]byte, bool))
	// Trigger serves a request with a path below /events/, as Triggers.Serve does.
	Trigger(w http.ResponseWriter, r *http.Request, principal string, read func() ([]byte, bool)) (refusal string)
}

// frontTriggers are the triggers of all workspaces.
type frontTriggers struct {
	Front
	bodies *bodyBudget
	most   int64 // bytes of a body
}

// Serve implements Triggers.
func (t frontTriggers) Serve(w http.ResponseWriter, r *http.Request, principal string) string {
	b := &body{budget: t.bodies}
	defer func() { b.release() }()
	return t.Trigger(w, r, principal, func() ([]byte, bool) {
		if r.ContentLength > t.most {
			refuse(w, "the body is too long for an event", http.StatusRequestEntityTooLarge)
			return nil, false
		}
		r.Body = http.MaxBytesReader(w, r.Body, t.most)
		var fail *httpFailure
		if b, fail = readBody(w, r, t.bodies, triggerTime); fail != nil {
			fail.write(w)
			return nil, false
		}
		return b.data, true
	})
}

// triggerTime is the time in which the body of a trigger's request must arrive, and triggerBody the
// limit of its length in bytes, as in package trigger.
const triggerTime, triggerBody = 3 * time.Second, 64 << 10

// ServeFront serves a listener like Server.ServeHTTP, with a front in place of a server.
func ServeFront(ctx context.Context, l net.Listener, h HTTP, f Front, drain time.Duration, log *slog.Logger) error {
	hard, stopCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCalls()
	bodies := newBodyBudget(maxSmallBodies, maxBodies)
	h.Triggers = frontTriggers{f, newBodyBudget(maxSmallBodies, maxSmallBodies), triggerBody}
	mux := http.NewServeMux()
	serve := func(w http.ResponseWriter, r *http.Request) {
		b := &body{budget: bodies}
		defer func() { b.release() }()
		f.Serve(w, r, func() ([]byte, bool) {
			if r.Method != http.MethodPost {
				return nil, true
			}
			var fail *httpFailure
			if b, fail = readBody(w, r, bodies, defaultTimeouts.body); fail != nil {
				fail.write(w)
				return nil, false
			}
			return b.data, true
		})
	}
	mux.HandleFunc("/mcp", serve)
	mux.HandleFunc("/mcp/", serve)
	if h.Metrics != nil {
		mux.Handle("GET "+metricsPath, h.Metrics)
	}
	mux.HandleFunc("/", notFound)
	g := newGuard(h, l.Addr(), defaultTimeouts.body, mux)
	g.stopping = ctx.Done()
	srv := newHTTPServer(hard, g, h, defaultTimeouts, log)
	return serveUntil(ctx, srv, l, h.TLS != nil, drain, log, func() {}, func() {}, stopCalls)
}

// OwnPath begins the paths of Behind.Own.
const OwnPath = "/own/"

// Behind serves the requests that a front passes on. The front has checked them.
type Behind struct {
	Own http.Handler // serves the paths below OwnPath, which the front itself asks for
}

// passedOn returns the handler of requests that a front passes on.
func (h HTTP) passedOn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, ok := identity.Passed(r)
		switch {
		case strings.HasPrefix(r.URL.Path, OwnPath) && !ok:
			h.Behind.Own.ServeHTTP(w, r)
		case h.Triggers != nil && strings.HasPrefix(r.URL.Path, triggersPath):
			if refusal := h.Triggers.Serve(w, r, by.ID); refusal != "" {
				http.Error(w, refusal, http.StatusUnauthorized)
			}
		case !ok:
			http.Error(w, "the front named no principal", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r.WithContext(identity.With(r.Context(), by)))
		}
	})
}
