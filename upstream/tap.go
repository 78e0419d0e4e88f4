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

// The library decodes messages into structs and loses fields it does not know.
// A tap wraps its transport and captures the raw answer for the code that made
// the request. The context of the request identifies the capture.

// answer holds the outcome of the last request of a context.
type answer struct {
	raw     json.RawMessage          // the result
	rpc     *mcp.JSONRPCErrorDetails // the error that the server answered with
	status  int                      // HTTP status; 0 over stdio
	tooLong bool
	err     error // why there is no answer
}

// capture holds the last answer of a context.
type capture struct {
	mu   sync.Mutex
	last answer
}

type captureKey struct{}

// capturing returns a context whose requests are captured.
func capturing(ctx context.Context) (context.Context, *capture) {
	c := &capture{}
	return context.WithValue(ctx, captureKey{}, c), c
}

// captureOf returns the capture of a context, or nil if there is none.
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

// sent records the outcome of a request.
func (c *capture) sent(resp *transport.JSONRPCResponse, err error) {
	c.set(func(a *answer) {
		a.err = err
		if err == nil && resp != nil {
			a.raw, a.rpc = resp.Result, resp.Error
			if a.rpc != nil && a.rpc.Code == 0 {
				a.rpc = nil // an error from something in front of the server
			}
		}
	})
}

// answeredError is an error with the answer that caused it.
type answeredError struct {
	answer *answer
	err    error
}

func (e *answeredError) Error() string { return e.err.Error() }
func (e *answeredError) Unwrap() error { return e.err }

// answered returns the answer that caused an error, or nil if there is none.
func answered(err error) *answer {
	var e *answeredError
	if errors.As(err, &e) {
		return e.answer
	}
	return nil
}

// errNotSent is the error of a request that was not sent.
var errNotSent = errors.New("the request was not sent")

// stdioTap captures answers over standard input and output.
type stdioTap struct {
	*transport.Stdio
	lost <-chan struct{} // closed when the connection is lost
}

// SendRequest sends a request and captures the answer.
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

// httpTap captures answers over streamable HTTP.
type httpTap struct {
	*transport.StreamableHTTP
	url    string
	client *http.Client
	ctx    context.Context // of the connection

	mu       sync.Mutex
	protocol string
}

// SendRequest sends a request and captures the answer.
func (t *httpTap) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c := captureOf(ctx)
	c.set(func(a *answer) { *a = answer{} })
	resp, err := t.StreamableHTTP.SendRequest(ctx, r)
	c.sent(resp, err)
	return resp, err
}

// SetProtocolVersion records the negotiated version.
func (t *httpTap) SetProtocolVersion(version string) {
	t.mu.Lock()
	t.protocol = version
	t.mu.Unlock()
	t.StreamableHTTP.SetProtocolVersion(version)
}

// SetRequestHandler sets the handler for requests of the server. A question to
// the user may take as long as the call lasts. The library limits handlers to
// half a minute, which is too short, so the answer to a question is posted
// here.
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
	ctx = context.WithValue(ctx, captureKey{}, (*capture)(nil)) // not the call's own request
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
