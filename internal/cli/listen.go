package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"mcp-toolset/internal/text/plain"
)

// The numbers of these errors on Windows. No other system uses them.
const (
	wsaInUse        = syscall.Errno(10048)
	wsaNotAvailable = syscall.Errno(10049)
)

// listen listens on --addr.
func (o *httpOptions) listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err == nil {
		return l, nil
	}
	name, port, _ := net.SplitHostPort(o.addr) // isLoopback has checked the address
	number, wrong := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	switch {
	case wrong != nil && ctx.Err() == nil:
		return nil, usagef("--addr is %q; the port is a number from 0 to 65535", o.addr)
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaInUse):
		return nil, fmt.Errorf("%s is in use by %s; stop that, or use --addr %s for a free port", plain.Line(o.addr), cmp.Or(holder(number), "another program"), net.JoinHostPort(name, "0"))
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, wsaNotAvailable):
		return nil, usagef("--addr is %q; this machine does not have that address", o.addr)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s may not be listened on by this user; use a port above 1023, such as --addr %s", plain.Line(o.addr), net.JoinHostPort(name, "8808"))
	}
	return nil, fmt.Errorf("listening: %w", err)
}

// certificate loads the files of --tls-cert and --tls-key.
func (o *httpOptions) certificate() (tls.Certificate, error) {
	none := tls.Certificate{}
	cert, err := os.ReadFile(o.cert)
	if err != nil {
		return none, fmt.Errorf("reading --tls-cert: %w", err)
	}
	key, err := os.ReadFile(o.key)
	if err != nil {
		return none, fmt.Errorf("reading --tls-key: %w", err)
	}
	switch {
	case !hasPEM(cert, "CERTIFICATE"):
		return none, fmt.Errorf("--tls-cert: %s has no certificate in PEM format", plain.Line(o.cert))
	case !hasPEM(key, "PRIVATE KEY"):
		return none, fmt.Errorf("--tls-key: %s has no private key in PEM format", plain.Line(o.key))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return none, fmt.Errorf("--tls-cert %s with --tls-key %s: %w", plain.Line(o.cert), plain.Line(o.key), err)
	}
	return pair, nil
}

// hasPEM reports whether data contains a PEM block whose type ends in kind.
func hasPEM(data []byte, kind string) bool {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, kind) {
			return true
		}
		data = rest
	}
}

// unspecified reports whether an address to listen on means all addresses.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, _ := netip.ParseAddr(host)
	return err == nil && (host == "" || ip.IsUnspecified())
}
