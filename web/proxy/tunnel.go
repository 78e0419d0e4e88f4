package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// halfTime is the longest pause of one direction of a tunnel after the end of the other. Without
// it, a server that does not notice the end of its client would occupy the tunnel.
const halfTime = 2 * time.Minute

// chunk is the number of bytes after which halfTime begins anew.
const chunk = 4 << 20

// tunnel passes bytes between two connections until both directions have ended, or ctx, and
// closes both.
func tunnel(ctx context.Context, client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	done := make(chan struct{})
	var half atomic.Bool // whether one direction has ended
	go func() {
		defer close(done)
		pass(server, client, &half)
	}()
	pass(client, server, &half)
	<-done
}

// pass copies what src sends, and its end. After an error it closes both connections, so that
// the other direction ends too.
func pass(dst, src net.Conn, half *atomic.Bool) {
	for {
		_, err := io.CopyN(dst, src, chunk) // within the kernel, by splice
		if err == nil && half.Load() {
			err = src.SetReadDeadline(time.Now().Add(halfTime))
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			half.Store(true)
			err = errors.Join(closeWrite(dst), dst.SetReadDeadline(time.Now().Add(halfTime)))
		}
		if err != nil {
			dst.Close()
			src.Close()
		}
		return
	}
}

// closeWrite ends the stream to the other end, which can still send.
func closeWrite(conn net.Conn) error {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return conn.Close()
}

// linger waits until the client has closed the connection, for a limited time. A connection that
// is closed with bytes unread is reset, and the client could lose the answer.
func linger(conn net.Conn) {
	if closeWrite(conn) == nil && conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, conn, maxHeaders)
	}
}
