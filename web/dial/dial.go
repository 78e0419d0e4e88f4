// Package dial connects to sites.
//
// Each address of a host is judged before a connection to it is made, and the connection is
// made to that address, so that a name server cannot give another one in between. If the
// environment names a proxy for a site, the connection goes through it.
package dial

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"mcp-toolset/web/site"
)

// Timeouts of a connection to one address. One that others follow gets less, so that a network
// without working IPv6 delays a connection by little.
const (
	addrTime = 3 * time.Second
	lastTime = 10 * time.Second
)

// Dialer connects to sites. It is safe for concurrent use.
type Dialer struct {
	Resolver *net.Resolver       // nil: that of Go; that of the system takes 127.1 and the like for addresses
	Getenv   func(string) string // for the variables that name proxies; nil: none
	Roots    *x509.CertPool      // for proxies with TLS; nil: those of the system

	// Check returns an error unless a connection to the address may be made. The address is
	// invalid if the host cannot be resolved here and a proxy would choose the address.
	Check func(site.Site, netip.Addr) error
}

// Connect connects to a site. The connection is a *net.TCPConn, except through a proxy with
// TLS. The error is that of Check, perhaps wrapped, or one of package net. Its Op is
// "proxyconnect" if the proxy has failed.
func (d *Dialer) Connect(ctx context.Context, s site.Site) (net.Conn, error) {
	proxy, err := d.proxy(s)
	if err != nil {
		return nil, proxyError(err)
	}
	list, err := d.addrs(ctx, s)
	if proxy == nil && err == nil {
		return d.direct(ctx, s, list)
	}
	var unknown *net.DNSError
	if proxy != nil && errors.As(err, &unknown) {
		err = d.Check(s, netip.Addr{})
	}
	if err != nil {
		return nil, err
	}
	// The proxy resolves the name again. More cannot be judged here.
	conn, err := d.through(ctx, proxy, s)
	if err != nil {
		return nil, proxyError(err)
	}
	return conn, nil
}

// addrs returns the addresses of a site. It fails if one of them is refused: a name with
// a public and another address is a trap.
func (d *Dialer) addrs(ctx context.Context, s site.Site) ([]netip.Addr, error) {
	list := []netip.Addr{}
	if addr, ok := s.Addr(); ok {
		list = append(list, addr)
	} else {
		name := s.Host
		if s.Class() == site.Public {
			name += "." // not below a search domain of this machine
		}
		resolver := d.Resolver
		if resolver == nil {
			resolver = &net.Resolver{PreferGo: true}
		}
		found, err := resolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			return nil, err
		}
		list = found
	}
	for i, addr := range list {
		list[i] = addr.Unmap()
		if err := d.Check(s, list[i]); err != nil {
			return nil, err
		}
	}
	return alternate(list), nil
}

// alternate returns addresses so that those of IPv6 and IPv4 take turns, as in RFC 8305,
// section 4.
func alternate(list []netip.Addr) []netip.Addr {
	var same, other, out []netip.Addr // the family of the first address, and the other one
	for _, addr := range list {
		if addr.Is4() == list[0].Is4() {
			same = append(same, addr)
		} else {
			other = append(other, addr)
		}
	}
	for i := range list {
		if i < len(same) {
			out = append(out, same[i])
		}
		if i < len(other) {
			out = append(out, other[i])
		}
	}
	return out
}

// direct connects to the first address that answers.
func (d *Dialer) direct(ctx context.Context, s site.Site, list []netip.Addr) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout: addrTime,
		// The address of the connection is judged, whatever has led to it.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return d.Check(s, at.Addr())
		},
	}
	err := fmt.Errorf("the host %s has no address", s.Host)
	for i, addr := range list {
		if i == len(list)-1 {
			dialer.Timeout = lastTime
		}
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, s.Port).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
