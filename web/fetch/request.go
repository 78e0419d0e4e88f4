package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

// accept is the Accept header: Markdown if there is some, as it is shortest.
const accept = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5"

// maxType is the limit of a Content-Type header, in bytes. A longer one counts as missing.
const maxType = 200

// request is one fetch.
type request struct {
	dialer
	c         *Client
	transport *http.Transport
}

func (c *Client) request(q Request) *request {
	r := &request{c: c}
	r.init(c, q)
	r.transport = newTransport(c, &r.dialer)
	return r
}

// run follows the redirects within the site and returns the page, or the redirect to another
// site.
func (r *request) run(ctx context.Context) (*Page, error) {
	u, accepts := r.URL, accept
	for hops := 0; ; {
		resp, err := r.send(ctx, u, accepts)
		if err != nil {
			return nil, r.fault(err)
		}
		to := resp.Header.Get("Location")
		switch {
		case resp.StatusCode == http.StatusNotAcceptable && accepts != "*/*":
			resp.Body.Close()
			accepts = "*/*" // some servers refuse a list that begins with Markdown
			continue
		case !redirects(resp.StatusCode) || to == "":
			return r.page(ctx, u, resp)
		}
		resp.Body.Close()
		next, err := r.hop(u, to)
		if err != nil {
			return nil, err
		}
		if next.site != r.Site {
			return newRedirect(u, next.url, r.c.Now()), nil
		}
		if hops++; hops > maxHops {
			return nil, fault.New(fmt.Sprintf("%s redirects more than %d times", r.Site, maxHops), "Fetch another page; this one needs cookies, or is set up wrongly.")
		}
		u = next.url
	}
}

// hop is the target of a redirect.
type hop struct {
	url  *url.URL
	site site.Site
}

// hop judges the target of a redirect. Errors do not quote it, except in its escaped form.
func (r *request) hop(u *url.URL, to string) (hop, error) {
	refuse := func(why string) (hop, error) {
		return hop{}, fault.New(fmt.Sprintf("%s redirects to a URL that is refused: %s", r.Site, why), "Fetch another page.")
	}
	ref, err := u.Parse(to)
	if err != nil {
		return refuse("it is not a URL")
	}
	next, s, err := site.Parse(ref.String())
	var f *fault.Fault
	if errors.As(err, &f) {
		return refuse(f.Fact)
	}
	if err == nil {
		err = r.checkHop(s)
	}
	return hop{next, s}, err
}

func redirects(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// send sends one request. The transport asks for gzip, and no other compression.
func (r *request) send(ctx context.Context, u *url.URL, accepts string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accepts)
	req.Header.Set("User-Agent", r.c.UserAgent)
	return r.transport.RoundTrip(req)
}

// page stores the body of a response.
func (r *request) page(ctx context.Context, u *url.URL, resp *http.Response) (*Page, error) {
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, statusFault(u, resp)
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fault.New(fmt.Sprintf("%s sent the page in a coding that was not asked for", r.Site), "Fetch another page.")
	}
	if resp.ContentLength > MaxBody {
		return nil, tooLarge(u)
	}
	p, err := r.c.cache.create()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(p.file, io.LimitReader(resp.Body, MaxBody+1))
	if err == nil && n > MaxBody {
		err = tooLarge(u)
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		p.Release()
		if errors.Is(err, io.ErrUnexpectedEOF) && resp.ContentLength > 0 {
			return nil, fault.New(fmt.Sprintf("%s closed the connection after %d of %d bytes", r.Site, n, resp.ContentLength), "Try again later.")
		}
		return nil, r.fault(err)
	}
	p.URL, p.Size, p.Fetched = u, n, r.c.Now()
	if kind := resp.Header.Get("Content-Type"); len(kind) <= maxType {
		p.Type, p.Params, _ = mime.ParseMediaType(kind)
	}
	p.noStore = noStore(resp.Header)
	return p, nil
}

// noStore reports whether a response must not be cached, not even for minutes.
func noStore(h http.Header) bool {
	for _, d := range strings.Split(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(d), "=")
		if strings.EqualFold(name, "no-store") {
			return true
		}
	}
	return false
}
