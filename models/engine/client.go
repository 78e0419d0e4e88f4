package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/web/dial"
	"mcp-toolset/web/endpoint"
	"mcp-toolset/web/site"
)

const (
	// maxError is the size of the beginning of an error's body that is looked at.
	maxError = 64 << 10
	// maxHeaders is the limit of the headers of a response, in bytes.
	maxHeaders = 256 << 10
	// idle is the time after which an unused connection is closed.
	idle = time.Minute
)

// userAgent names the product, for providers that refuse requests without one.
const userAgent = "mcp-toolset"

// client makes the requests of a library. It is their http.RoundTripper: it sends only its own
// headers, and only to its endpoint, so that no option or variable of the library has an effect.
type client struct {
	models.Endpoint
	at        site.Site
	key       endpoint.Key
	transport http.RoundTripper
}

// newClient returns a client.
func newClient(e models.Endpoint, key endpoint.Key, getenv func(string) string) *client {
	c := &client{Endpoint: e, key: key}
	u, err := url.Parse(e.URL)
	if err == nil {
		c.at, _ = site.Of(u)
	}
	dialer := &dial.Dialer{Check: func(_ site.Site, addr netip.Addr) error {
		if err == nil && u.Scheme == "https" {
			return nil // the user has named the endpoint, wherever it is
		}
		return endpoint.CheckNear(netip.AddrPortFrom(addr, c.at.Port), true)
	}}
	if err == nil && u.Scheme == "https" {
		dialer.Getenv = getenv // near addresses are not reached by a proxy
	}
	c.transport = &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.Connect(ctx, c.at) },
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second}, // a connection that is lost answers no ping
		MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        idle,
		DisableCompression:     true,
	}
	return c
}

// http returns the HTTP client for a library. It follows no redirects, because RoundTrip makes
// errors of them.
func (c *client) http() *http.Client { return &http.Client{Transport: c} }

// Close closes the connections that are not in use.
func (c *client) Close() error {
	if t, ok := c.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// RoundTrip implements http.RoundTripper. Its response is a stream of events.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	key, err := c.key.Read()
	if err != nil {
		closeBody(r)
		return nil, failure(c.Endpoint, models.Failed, "has no key: "+err.Error(), "Ask the user to correct that.")
	}
	own := r.Clone(r.Context())
	own.Header = http.Header{"Accept": {"text/event-stream"}, "Content-Type": {"application/json"}, "User-Agent": {userAgent}}
	switch {
	case c.Provider == "anthropic":
		own.Header.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			own.Header.Set("X-Api-Key", key)
		}
	case key != "":
		own.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.transport.RoundTrip(own)
	switch {
	case r.Context().Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, context.Cause(r.Context())
	case err != nil:
		return nil, c.unreachable(err)
	case resp.StatusCode != http.StatusOK:
		defer resp.Body.Close()
		return nil, c.refused(resp, key)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, failure(c.Endpoint, models.Failed, "answered with something other than a stream of events", checkSettings)
	}
	resp.Body = &limited{ReadCloser: resp.Body, e: c.Endpoint}
	return resp, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// limited is a body that fails after maxBody bytes.
type limited struct {
	io.ReadCloser
	e models.Endpoint
	n int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.n += n; l.n > maxBody {
		return 0, tooLarge(l.e, fmt.Sprintf("%d MB", maxBody>>20))
	}
	return n, err
}

// isErrorType reports whether a text has the form of the types and codes of errors that APIs
// document.
func isErrorType(s string) bool {
	return s != "" && len(s) <= 60 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// tooLong reports whether the body of an error is about a conversation over the context of the
// model. The texts are those of APIs and local servers.
func tooLong(body []byte) bool {
	return slices.ContainsFunc([]string{
		"prompt is too long", "context_length_exceeded", "maximum context length", "exceed_context_size", "exceeds the available context", "request_too_large",
	}, func(text string) bool { return bytes.Contains(body, []byte(text)) })
}

// refused returns the error for a response with a status other than 200.
func (c *client) refused(resp *http.Response, key string) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	status := resp.StatusCode
	shown := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	if kind := typeOf(body); kind != "" && (key == "" || !strings.Contains(kind, key) && !strings.Contains(key, kind)) {
		shown += ", " + kind
	}
	fail := func(k models.Kind, fact, next string) *models.Error {
		return failure(c.Endpoint, k, fact+" ("+shown+")", next)
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		if place := c.key.Place(); place != "" {
			return fail(models.Failed, "refused the key", "Ask the user to check the key in "+place+".")
		}
		return fail(models.Failed, "needs a key", "Ask the user to name one with keyEnv or keyFile in models of the settings.")
	case status == http.StatusPaymentRequired:
		return fail(models.Failed, "has no credit left for this key", "Ask the user to renew the plan, or go on without the model.")
	case status == http.StatusTooManyRequests, status == 529, status == http.StatusServiceUnavailable:
		return waiting(fail(models.Busy, "takes no requests now", goOn), resp.Header)
	case status >= 500:
		return waiting(fail(models.Busy, "is not available", goOn), resp.Header)
	case status == http.StatusRequestEntityTooLarge, tooLong(body):
		return fail(models.TooLong, "takes no conversation of this length", "Give it less.")
	case status == http.StatusNotFound:
		return fail(models.Failed, "is not known to its provider", checkSettings)
	case status >= 300 && status < 400:
		return fail(models.Failed, "has a URL that redirects, which is not followed", checkSettings)
	case status < 300:
		return fail(models.Failed, "gave neither an answer nor an error", checkSettings)
	}
	return fail(models.Failed, "does not accept the request", checkSettings)
}

// waiting adds the wait that a response demands.
func waiting(e *models.Error, h http.Header) *models.Error {
	e.Wait = endpoint.RetryAfter(h.Get("Retry-After"))
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e8 {
		e.Wait = time.Duration(ms * float64(time.Millisecond))
	}
	return e
}

// typeOf returns the type or code of an error's body, or "".
func typeOf(body []byte) string {
	var found struct {
		Error struct{ Type, Code any }
	}
	if json.Unmarshal(body, &found) != nil {
		return ""
	}
	for _, v := range []any{found.Error.Code, found.Error.Type} {
		if s, ok := v.(string); ok && isErrorType(s) {
			return s
		}
	}
	return ""
}

// inStream returns the error for one that an API has sent within a stream.
func (c *client) inStream(kind string) error {
	switch kind {
	case "overloaded_error", "rate_limit_error", "rate_limit_exceeded", "api_error", "server_error":
		return failure(c.Endpoint, models.Busy, "broke off its answer ("+kind+")", goOn)
	case "context_length_exceeded":
		return failure(c.Endpoint, models.TooLong, "takes no conversation of this length ("+kind+")", "Give it less.")
	}
	return failure(c.Endpoint, models.Failed, "broke off its answer with an error", goOn)
}

// unreachable returns the error for a failed connection.
func (c *client) unreachable(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return failure(c.Endpoint, models.Failed, "cannot be reached: "+plain.Line(err.Error()), "Ask the user to check the network and models in the settings.")
}

// broken returns the error for a stream that ended with err: an error of this package, the cause of
// the end of ctx, or a connection or text that is not as the API has it.
func (c *client) broken(ctx context.Context, err error) error {
	var own *models.Error
	var network net.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return own
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return dropped(c.Endpoint)
	}
	return malformed(c.Endpoint)
}
