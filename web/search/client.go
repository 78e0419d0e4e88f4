package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/endpoint"
)

const (
	// timeout is the timeout of a request with its retries. A user waits for a search.
	timeout = 30 * time.Second
	// maxBody is the limit of an answer, decompressed. Real ones have less than 200 KB.
	maxBody = 10 << 20
	// attempts is how often a request is made if the provider is busy.
	attempts = 3
	// backoff is the wait before the second attempt. It doubles with each attempt.
	backoff = time.Second
	// maxRetryAfter is the longest wait that a provider can demand.
	maxRetryAfter = 10 * time.Second
)

// userAgent names the product. Some instances of SearXNG refuse requests without one.
const userAgent = "mcp-toolset"

// request is a request to a provider.
type request struct {
	method, path string         // path begins with / and includes the query
	body         map[string]any // sent as JSON; nil: none
	sign         func(h http.Header, key string)
}

// client makes requests to one provider. Its errors never contain the key, nor any text of the
// provider, which may repeat the key.
type client struct {
	name   string
	base   string // URL without a slash at the end
	key    endpoint.Key
	errors map[int][2]string
	http   http.Client
}

func newClient(name, base string, key endpoint.Key, errors map[int][2]string) *client {
	c := &client{name: name, base: base, key: key, errors: errors}
	c.http = http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     newTransport(base, name == "searxng"),
	}
	return c
}

// newTransport returns a transport that retains no connections: searches are rare. A base URL with
// http is only reached on this machine or, if private, in a private network, and not by a proxy.
func newTransport(base string, private bool) *http.Transport {
	t := &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 1 << 20,
		Proxy: func(r *http.Request) (*url.URL, error) {
			proxy, err := http.ProxyFromEnvironment(r)
			if err != nil { // which has the password of the proxy
				err = errors.New("the proxy variables of the environment hold no URL")
			}
			return proxy, err
		},
	}
	if strings.HasPrefix(strings.ToLower(base), "http:") {
		t.Proxy = nil
		d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return checkNear(address, private) }}
		t.DialContext = d.DialContext
	}
	return t
}

// do makes a request and returns the body of the answer.
func (c *client) do(ctx context.Context, r request) ([]byte, error) {
	key, err := c.key.Read()
	if err != nil {
		return nil, c.fault("has no key: "+err.Error(), "Ask the user to correct that.")
	}
	slow := c.fault(fmt.Sprintf("did not answer within %v", timeout), "Search again, or go on without searching.")
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, slow)
	defer cancel()
	for attempt := 1; ; attempt++ {
		data, status, wait, err := c.once(ctx, r, key)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || status == http.StatusOK {
			return data, err
		}
		busy := status == http.StatusTooManyRequests || status >= 500
		wait = max(wait, backoff<<(attempt-1))
		if !busy || attempt == attempts || wait > maxRetryAfter || !endpoint.Sleep(ctx, wait) {
			return nil, c.refused(status, attempt, wait)
		}
	}
}

// once makes one attempt. wait is the wait that the provider demands before the next.
func (c *client) once(ctx context.Context, r request, key string) (data []byte, status int, wait time.Duration, err error) {
	var body io.Reader
	if r.body != nil {
		encoded, err := json.Marshal(r.body)
		if err != nil {
			return nil, 0, 0, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, 0, 0, c.fault("has no valid URL", correctURL)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.sign(req.Header, key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, 0, c.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode, endpoint.RetryAfter(resp.Header.Get("Retry-After")), nil
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case len(data) > maxBody:
		return nil, 0, 0, c.fault(fmt.Sprintf("answered with more than %d MB", maxBody>>20), correctURL)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, 0, 0, c.malformed(data, err)
	case err != nil:
		return nil, 0, 0, c.unreachable(err)
	}
	return data, resp.StatusCode, 0, nil
}

// Next steps of faults.
const (
	correctURL = "Ask the user to check webSearch.url in the settings."
	later      = "Try again later, or go on without searching."
)

// noCredit is the fact and next step for an account without quota.
var noCredit = [2]string{"has no credit left for this key", "Ask the user to renew the plan, or go on without searching."}

// fault returns a fault about the provider.
func (c *client) fault(fact, next string) error { return fault.New(c.name+" "+fact, next) }

// refused returns the fault for a status other than 200.
func (c *client) refused(status, attempt int, wait time.Duration) error {
	shown := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	if own, ok := c.errors[status]; ok {
		return c.fault(own[0]+" ("+shown+")", own[1])
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		next := correctURL
		if place := c.key.Place(); place != "" {
			next = "Ask the user to check the key in " + place + "."
		}
		return c.fault("refused the key ("+shown+")", next)
	case status == http.StatusPaymentRequired:
		return c.fault(noCredit[0]+" ("+shown+")", noCredit[1])
	case status == http.StatusTooManyRequests && wait > maxRetryAfter:
		return c.fault(fmt.Sprintf("gets too many requests (%s) and takes the next in %v", shown, wait), later)
	case status == http.StatusTooManyRequests:
		return c.fault(fmt.Sprintf("gets too many requests (%s, %s)", shown, times(attempt)), "Wait a minute, then search again.")
	case status >= 500:
		return c.fault(fmt.Sprintf("is not available (%s, %s)", shown, times(attempt)), later)
	case status >= 300 && status < 400:
		return c.fault("redirects to another URL ("+shown+"), which is not followed", correctURL)
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return c.fault("does not accept the query ("+shown+")", "Use a shorter query and fewer domains.")
	case status < 300:
		return c.fault("gave no results and no error ("+shown+")", correctURL)
	}
	return c.fault("answered "+shown, correctURL)
}

func times(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// malformed returns the fault for an answer that is not one to a search.
func (c *client) malformed(data []byte, err error) error {
	var syntax *json.SyntaxError
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return c.fault("gave an empty answer", correctURL)
	case text[0] == '<':
		return c.fault("answered with a page instead of JSON, perhaps to check for bots or to ask for a login", correctURL)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return c.fault(fmt.Sprintf("gave an answer that ends too early, after %d bytes", len(data)), "Search again.")
	case errors.As(err, &syntax):
		return c.fault("answered with something other than JSON", correctURL)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = errors.New("a field has another type")
	}
	return c.fault("answered with JSON that is no answer to a search: "+err.Error(), correctURL)
}

// unreachable returns the fault for a failed connection. The reason is without the URL, which has
// the query.
func (c *client) unreachable(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return c.fault("cannot be reached: "+plain.Line(err.Error()), "Ask the user to check the network and webSearch.url in the settings.")
}
