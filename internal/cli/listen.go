package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"mcp-toolset/internal/text/plain"
)

// The numbers of these errors on Windows. No other system uses them.
const (
	wsaInUse        = syscall.Errno(10048)
	wsaNotAvailable = syscall.Errno(10049)
)

// takeSocket takes the socket of systemd, if there is one, in place of --addr.
func (o *httpOptions) takeSocket(cmd *cobra.Command, host *Host) (err error) {
	if o.socket, err = passedSocket(host, firstSocket); err != nil || o.socket == nil {
		return err
	}
	if cmd.Flags().Changed("addr") {
		return usagef("systemd has the socket %s; leave out --addr", o.socket.Addr())
	}
	o.addr, o.Kept = o.socket.Addr().String(), true
	return nil
}

// listen listens on --addr.
func (o *httpOptions) listen(ctx context.Context) (net.Listener, error) {
	if o.socket != nil {
		return o.socket, nil
	}
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

// unspecified reports whether an address to listen on means all addresses.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, _ := netip.ParseAddr(host)
	return err == nil && (host == "" || ip.IsUnspecified())
}
