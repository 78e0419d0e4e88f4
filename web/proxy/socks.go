package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

// Bytes of SOCKS5, from RFC 1928 and, for the password, RFC 1929.
const (
	socksVersion    = 5
	passwordVersion = 1

	methodNone     = 0
	methodPassword = 2
	methodRefused  = 0xff

	commandConnect = 1

	addrIPv4 = 1
	addrName = 3
	addrIPv6 = 4
)

// Replies of SOCKS5.
const (
	replyDone = iota
	replyFailed
	replyRefused
	replyNetwork // unreachable
	replyHost    // unreachable
	replyClosed  // the port
	_
	replyCommand // not supported
	replyAddress // type not supported
)

// errSOCKS is the error of a handshake that cannot be answered.
var errSOCKS = errors.New("the client does not speak SOCKS5")

// socks serves a client of SOCKS5 after its first byte. It reads no byte more than the
// handshake has.
func (p *proxy) socks(ctx context.Context, conn net.Conn) {
	s, err := negotiate(conn)
	var f *failure
	if err != nil && !errors.As(err, &f) {
		p.Log.Debug("a SOCKS handshake has failed", "error", err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	var server net.Conn
	if f != nil {
		p.report(s, f, nil)
	} else if server, f = p.connect(ctx, s); f == nil {
		if _, err := conn.Write(reply(replyDone)); err != nil {
			server.Close()
			return
		}
		tunnel(ctx, conn, server)
		return
	}
	if _, err := conn.Write(reply(f.reply)); err == nil {
		linger(conn)
	}
}

// reply returns a reply. It does not name the address of the connection, which clients ignore.
func reply(code byte) []byte {
	return []byte{socksVersion, code, 0, addrIPv4, 0, 0, 0, 0, 0, 0}
}

// negotiate returns the site that a client wants to connect to. The error is a *failure if
// it can be sent as a reply.
func negotiate(conn net.Conn) (site.Site, error) {
	methods, err := text(conn)
	if err != nil {
		return site.Site{}, err
	}
	switch {
	case slices.Contains(methods, methodNone):
		_, err = conn.Write([]byte{socksVersion, methodNone})
	case slices.Contains(methods, methodPassword):
		err = password(conn)
	default:
		_, _ = conn.Write([]byte{socksVersion, methodRefused})
		err = errSOCKS
	}
	if err != nil {
		return site.Site{}, err
	}
	head, err := read(conn, 4)
	if err != nil {
		return site.Site{}, err
	}
	if head[0] != socksVersion {
		return site.Site{}, errSOCKS
	}
	var host []byte
	switch head[3] {
	case addrIPv4:
		host, err = read(conn, 4)
	case addrIPv6:
		host, err = read(conn, 16)
	case addrName:
		host, err = text(conn)
	default:
		return site.Site{}, &failure{fault.New(fmt.Sprintf("the command asked for an address of SOCKS type %d", head[3]), "Connect to a name, or an address of IPv4 or IPv6."), http.StatusBadRequest, replyAddress}
	}
	if err != nil {
		return site.Site{}, err
	}
	port, err := read(conn, 2)
	if err != nil {
		return site.Site{}, err
	}
	name := string(host)
	if addr, ok := netip.AddrFromSlice(host); ok && head[3] != addrName {
		name = addr.String()
	}
	if head[1] != commandConnect {
		return site.Site{}, &failure{fault.New("the command asked for UDP or for incoming connections", "Use an outgoing TCP connection; the proxy makes no other."), http.StatusBadRequest, replyCommand}
	}
	s, f := siteOf(name, fmt.Sprint(binary.BigEndian.Uint16(port)))
	if f != nil {
		return site.Site{}, f
	}
	return s, nil
}

// password accepts any user and password: whoever reaches the listener may use it.
func password(conn net.Conn) error {
	if _, err := conn.Write([]byte{socksVersion, methodPassword}); err != nil {
		return err
	}
	version, err := read(conn, 1)
	if err != nil {
		return err
	}
	if version[0] != passwordVersion {
		return errSOCKS
	}
	for range 2 { // the user and the password
		if _, err := text(conn); err != nil {
			return err
		}
	}
	_, err = conn.Write([]byte{passwordVersion, 0})
	return err
}

// text reads a text after its length.
func text(conn net.Conn) ([]byte, error) {
	n, err := read(conn, 1)
	if err != nil {
		return nil, err
	}
	return read(conn, int(n[0]))
}

// read reads n bytes.
func read(conn net.Conn, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(conn, b)
	return b, err
}
