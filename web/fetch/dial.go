package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

// dialTime is the timeout of a connection to one of several addresses.
const dialTime = 10 * time.Second

// maxHeaders is the limit of the headers of a response, in bytes.
const maxHeaders = 256 << 10

// dialer connects to the site of a request, and judges its addresses.
type dialer struct {
	Request
	resolver *net.Resolver
	proxy    func(*url.URL) (*url.URL, error)
	proxied  bool // whether a proxy makes the connection to the site

	mu      sync.Mutex
	refusal error // the first error of Check
}

// newTransport returns a transport for one request, with HTTP/1.1. Its connections are of no use
// for another request, which may have another Check.
func newTransport(c *Client, d *dialer) *http.Transport {
	proxies := httpproxy.Config{NoProxy: env(c.Getenv, "NO_PROXY", "no_proxy"), HTTPProxy: env(c.Getenv, "HTTP_PROXY", "http_proxy"), HTTPSProxy: env(c.Getenv, "HTTPS_PROXY", "https_proxy")}
	d.proxy = proxies.ProxyFunc()
	t := &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return d.proxy(r.URL) },
		DialContext:            d.dial,
		MaxResponseHeaderBytes: maxHeaders,
		DisableKeepAlives:      true, // net/http logs what a server sends on an idle connection
		TLSClientConfig:        &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12},
	}
	return t
}

// env returns the value of the first variable that is set.
func env(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if value := getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// prepare judges the addresses of the site if a proxy makes the connection to it. The proxy
// resolves the name again; this is as much as can be judged here.
func (d *dialer) prepare(ctx context.Context, u *url.URL) error {
	proxy, err := d.proxy(u)
	if d.proxied = proxy != nil; err != nil || !d.proxied {
		return err
	}
	_, err = d.addrs(ctx)
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return d.check(netip.Addr{})
	}
	return err
}

// addrs returns the addresses of the site. It fails if one of them is refused: a name with
// a public and another address is a trap.
func (d *dialer) addrs(ctx context.Context) ([]netip.Addr, error) {
	list := []netip.Addr{}
	if addr, ok := d.Site.Addr(); ok {
		list = append(list, addr)
	} else {
		name := d.Site.Host
		if d.Site.Class() == site.Public {
			name += "." // not below a search domain of this machine
		}
		found, err := d.resolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			return nil, err
		}
		list = found
	}
	for i, addr := range list {
		list[i] = addr.Unmap()
		if err := d.check(list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *dialer) check(addr netip.Addr) error {
	err := d.Check(d.Site, addr)
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

// dial connects to the site, or to the proxy.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if d.proxied && (err != nil || host != d.Site.Host || port != strconv.Itoa(int(d.Site.Port))) {
		return new(net.Dialer).DialContext(ctx, network, address) // the proxy, which the user has configured
	}
	list, err := d.addrs(ctx)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{
		Timeout: dialTime,
		// The address of the connection is judged, whatever has led to it.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return d.check(at.Addr())
		},
	}
	err = fmt.Errorf("the host %s has no address", d.Site.Host)
	for _, addr := range list {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, d.Site.Port).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
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
	if err := d.Check(to, addr); err != nil {
		return fault.New(fmt.Sprintf("%s redirects to %s, which is %s", d.Site, to, to.Class()), "Fetch another page.")
	}
	return nil
}
