package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// The library decodes what a server says into structs and loses what it does not
// know. A tap sits around its transport and keeps the raw answer for whoever made
// the request, found through the request's context.

// answer is what became of the last request of a context.
type answer struct {
	raw     json.RawMessage          // the result
	rpc     *mcp.JSONRPCErrorDetails // the error that the server answered with
	status  int                      // HTTP status, 0 over stdio
	tooLong bool
	err     error // why there is no answer
}

// capture collects answers.
type capture struct {
	mu   sync.Mutex
	last answer
}

type captureKey struct{}

// capturing is a context whose requests are captured.
func capturing(ctx context.Context) (context.Context, *capture) {
	c := &capture{}
	return context.WithValue(ctx, captureKey{}, c), c
}

// captureOf is the capture of a context; nil: there is none.
func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

func (c *capture) set(f func(*answer)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.last)
}

func (c *capture) answer() *answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last
	return &last
}

// sent records how a request ended.
func (c *capture) sent(resp *transport.JSONRPCResponse, err error) {
	c.set(func(a *answer) {
		a.err = err
		if err == nil && resp != nil {
			a.raw, a.rpc = resp.Result, resp.Error
			if a.rpc != nil && a.rpc.Code == 0 {
				a.rpc = nil // it is an error of something before the server
			}
		}
	})
}

// answeredError is an error with the answer behind it.
type answeredError struct {
	answer *answer
	err    error
}

func (e *answeredError) Error() string { return e.err.Error() }
func (e *answeredError) Unwrap() error { return e.err }

// answered is the answer behind an error, nil if there is none.
func answered(err error) *answer {
	var e *answeredError
	if errors.As(err, &e) {
		return e.answer
	}
	return nil
}

// errNotSent is the error of a request that did not leave this process.
var errNotSent = errors.New("the request was not sent")

// stdioTap taps standard input and output.
type stdioTap struct {
	*transport.Stdio
	lost <-chan struct{} // closed when the connection is over
}

// SendRequest sends a request and keeps the answer.
func (t *stdioTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c := captureOf(ctx)
	c.set(func(a *answer) { *a = answer{} })
	select {
	case <-t.lost:
		c.sent(nil, errNotSent)
		return nil, errNotSent
	default:
	}
	resp, err := t.Stdio.SendRequest(ctx, r)
	c.sent(resp, err)
	return resp, err
}

// httpTap taps streamable HTTP.
type httpTap struct {
	*transport.StreamableHTTP
	url    string
	client *http.Client
	ctx    context.Context // of the connection

	mu       sync.Mutex
	protocol string
}

// SendRequest sends a request and keeps the answer.
func (t *httpTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c := captureOf(ctx)
	c.set(func(a *answer) { *a = answer{} })
	resp, err := t.StreamableHTTP.SendRequest(ctx, r)
	c.sent(resp, err)
	return resp, err
}

// SetProtocolVersion is told the version in force.
func (t *httpTap) SetProtocolVersion(version string) {
	t.mu.Lock()
	t.protocol = version
	t.mu.Unlock()
	t.StreamableHTTP.SetProtocolVersion(version)
}

// SetRequestHandler has a question to the user answered as long as the call
// lasts: the library gives a handler half a minute, which is less than a person
// takes. So the answer is posted here.
func (t *httpTap) SetRequestHandler(h transport.RequestHandler) {
	t.StreamableHTTP.SetRequestHandler(func(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		if r.Method != string(mcp.MethodElicitationCreate) {
			return h(ctx, r)
		}
		lasting := t.ctx
		if c := callOf(ctx); c != nil {
			lasting = c.withCall(c.ctx)
		}
		resp, err := h(lasting, r)
		if err != nil {
			resp = transport.NewJSONRPCErrorResponse(r.ID, mcp.INTERNAL_ERROR, "the question was not answered", nil)
		}
		t.post(lasting, resp)
		return nil, nil
	})
}

// post sends a response.
func (t *httpTap) post(ctx context.Context, resp *transport.JSONRPCResponse) {
	body, err := json.Marshal(resp)
	if err != nil {
		return
	}
	ctx = context.WithValue(ctx, captureKey{}, (*capture)(nil)) // it is not the call's own request
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id := t.GetSessionId(); id != "" {
		req.Header.Set(transport.HeaderKeySessionID, id)
	}
	t.mu.Lock()
	protocol := t.protocol
	t.mu.Unlock()
	if protocol != "" {
		req.Header.Set(transport.HeaderKeyProtocolVersion, protocol)
	}
	if got, err := t.client.Do(req); err == nil {
		_ = got.Body.Close()
	}
}
