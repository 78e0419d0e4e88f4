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
	"strconv"
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
	s, err := negotiate(&handshake{Conn: conn})
	var f *failure
	if err != nil && !errors.As(err, &f) {
		p.Log.Debug("a SOCKS handshake has failed", "error", err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	var server net.Conn
	if f != nil {
		p.report(s, f)
	} else if server, f = p.connect(ctx, s); f == nil {
		defer server.Close()
		if _, err := conn.Write(reply(replyDone)); err == nil {
			tunnel(ctx, conn, server)
		}
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
func negotiate(h *handshake) (site.Site, error) {
	switch methods := h.text(); {
	case slices.Contains(methods, methodNone):
		h.send(socksVersion, methodNone)
	case slices.Contains(methods, methodPassword):
		h.send(socksVersion, methodPassword)
		h.expect(passwordVersion)
		h.text() // the user; whoever reaches the listener may use it
		h.text() // the password
		h.send(passwordVersion, 0)
	default:
		h.send(socksVersion, methodRefused)
		return site.Site{}, errSOCKS
	}
	h.expect(socksVersion)
	head := h.next(3)
	size := map[byte]int{addrIPv4: net.IPv4len, addrIPv6: net.IPv6len}[head[2]]
	var host string
	switch addr, ok := netip.AddrFromSlice(h.next(size)); {
	case h.err != nil:
	case ok:
		host = addr.String()
	case head[2] == addrName:
		host = string(h.text())
	default:
		return site.Site{}, &failure{Fault: fault.New(fmt.Sprintf("the command asked for an address of SOCKS type %d", head[2]), "Connect to a name, or to an address of IPv4 or IPv6."), status: http.StatusBadRequest, reply: replyAddress}
	}
	port := binary.BigEndian.Uint16(h.next(2))
	if h.err != nil {
		return site.Site{}, h.err
	}
	if head[0] != commandConnect {
		return site.Site{}, &failure{Fault: fault.New("the command asked for UDP or for incoming connections", "Use an outgoing TCP connection; the proxy makes no other."), status: http.StatusBadRequest, reply: replyCommand}
	}
	s, f := siteOf(host, strconv.Itoa(int(port)))
	if f != nil {
		return site.Site{}, f
	}
	return s, nil
}

// handshake reads and writes the messages of a handshake, up to the first error.
type handshake struct {
	net.Conn
	err error
}

// next returns n bytes, which are zero after an error.
func (h *handshake) next(n int) []byte {
	b := make([]byte, n)
	if h.err == nil {
		_, h.err = io.ReadFull(h.Conn, b)
	}
	return b
}

// text returns a text after its length.
func (h *handshake) text() []byte { return h.next(int(h.next(1)[0])) }

// expect reads a byte, which must be b.
func (h *handshake) expect(b byte) {
	if h.next(1)[0] != b && h.err == nil {
		h.err = errSOCKS
	}
}

func (h *handshake) send(b ...byte) {
	if h.err == nil {
		_, h.err = h.Write(b)
	}
}
