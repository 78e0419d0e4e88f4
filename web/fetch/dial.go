package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/dial"
	"mcp-toolset/web/site"
)

// maxHeaders is the limit of the headers of a response, in bytes.
const maxHeaders = 256 << 10

// dialer connects to the site of a request, and remembers why it may not.
type dialer struct {
	Request
	dial.Dialer

	mu      sync.Mutex
	refusal error // the first error of Check
}

// init prepares the dialer for a request.
func (d *dialer) init(c *Client, q Request) {
	d.Request = q
	d.Dialer = dial.Dialer{Resolver: c.Resolver, Getenv: c.Getenv, Roots: c.Roots, Check: d.check}
}

// newTransport returns a transport for one request, with HTTP/1.1. Its connections are of no use
// for another request, which may have another Check.
func newTransport(c *Client, d *dialer) *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) },
		MaxResponseHeaderBytes: maxHeaders,
		DisableKeepAlives:      true, // net/http logs what a server sends on an idle connection
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
	}
}

// dial connects to the site: in the session's own network, or else outside of it.
func (d *dialer) dial(ctx context.Context) (net.Conn, error) {
	if d.local() {
		if conn, err := d.Local(ctx, d.Site.Port); err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return d.Connect(ctx, d.Site)
}

func (d *dialer) check(s site.Site, addr netip.Addr) error {
	err := d.Request.Check(s, addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refusal == nil {
		d.refusal = err
	}
	return err
}

// refused returns the first error of Check.
func (d *dialer) refused() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refusal
}

// checkHop returns an error if a redirect leads to an address that is refused.
func (d *dialer) checkHop(to site.Site) error {
	addr, ok := to.Addr()
	if !ok && to.Class() == site.Public {
		return nil
	}
	if !ok {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // a rule that names the site opens this one
	}
	if err := d.Request.Check(to, addr); err != nil {
		return fault.New(fmt.Sprintf("%s redirects to %s, which is %s", d.Site, to, to.Class()), "Fetch another page.")
	}
	return nil
}
