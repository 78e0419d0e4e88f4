package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// endSession is the timeout for the request that ends a session.
const endSession = 300 * time.Millisecond

// maxStreamFailures is the number of failed attempts in a row to open the stream of
// changes, after which it is given up. The library would try every second for
// ever unless the answer is status 405.
const maxStreamFailures = 5

// newHTTPTransport makes the transport to a server over HTTP.
func (s *server) newHTTPTransport(c *conn, listen bool, log *slog.Logger) (transport.Interface, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &failure{reason: "its url is not one of http or https", next: "Ask the user to correct the url in the settings, under mcpServers."}
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	c.closeIdle = base.CloseIdleConnections
	web := &http.Client{
		Transport:     &roundTripper{next: base, origin: origin(u), headers: s.Headers, opened: c.changed},
		CheckRedirect: sameOrigin,
	}
	options := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(web), transport.WithHTTPLogger(log)}
	if listen {
		//lint:ignore SA1019 servers of before protocol 2026-07-28 tell of changes in no other way
		options = append(options, transport.WithContinuousListening())
	}
	inner, err := transport.NewStreamableHTTP(s.URL, options...)
	if err != nil {
		return nil, err
	}
	return &httpTap{StreamableHTTP: inner, url: s.URL, client: web, ctx: c.ctx}, nil
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// sameOrigin allows redirects only within an origin.
func sameOrigin(req *http.Request, via []*http.Request) error {
	const most = 5
	if origin(req.URL) != origin(via[0].URL) {
		return errRedirect
	}
	if len(via) >= most {
		return errors.New("redirected too often")
	}
	return nil
}

// roundTripper is the HTTP transport for all requests to a server. It adds the headers
// of the settings, limits the size of responses, and records their status.
type roundTripper struct {
	next           http.RoundTripper
	origin         string
	headers        map[string]string
	opened         func()       // called when the stream of changes has begun
	streamFailures atomic.Int32 // failed attempts in a row to open the stream of changes
}

// RoundTrip makes one request. It refuses requests to another origin.
func (d *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != d.origin {
		return nil, errRedirect
	}
	ctx, cancel := context.WithCancel(req.Context())
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(req.Context(), endSession)
	}
	c := captureOf(ctx)
	req = req.Clone(ctx)
	for name, value := range d.headers {
		req.Header.Set(name, value)
	}
	if req.Method == http.MethodGet && d.streamFailures.Load() >= maxStreamFailures {
		cancel()
		return &http.Response{Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	resp, err := d.next.RoundTrip(req)
	if req.Method == http.MethodGet {
		if err == nil && resp.StatusCode < http.StatusBadRequest {
			d.streamFailures.Store(0)
			d.opened()
		} else {
			d.streamFailures.Add(1)
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	c.set(func(a *answer) { a.status = resp.StatusCode })
	resp.Body = &body{
		ReadCloser: resp.Body, cancel: cancel, remaining: maxAnswer, capture: c,
		stream: req.Method == http.MethodGet || ctx.Value(streamKey{}) != nil,
	}
	return resp, nil
}

type streamKey struct{}

// streaming returns a context for a response without an end: the size limit
// applies to each event.
func streaming(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}

// body is a response body with a size limit.
type body struct {
	io.ReadCloser
	cancel    context.CancelFunc
	capture   *capture
	stream    bool
	remaining int64
}

// Read returns errTooLong when the limit is exceeded.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.stream && (bytes.Contains(p[:n], []byte("\n\n")) || bytes.Contains(p[:n], []byte("\r\n\r\n"))) {
		b.remaining = maxAnswer
	}
	if b.remaining -= int64(n); b.remaining < 0 {
		b.capture.set(func(a *answer) { a.tooLong = true })
		return 0, errTooLong
	}
	return n, err
}

// Close cancels the request and closes the body. Closing alone might wait for
// the rest of the response.
func (b *body) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
