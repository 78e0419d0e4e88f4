package proxy

import (
	"context"
	"io"
	"net"
	"time"
)

// tunnel passes bytes between two connections until both directions have ended, or ctx, and
// closes both.
func tunnel(ctx context.Context, client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(server, client)
	}()
	pass(client, server)
	<-done
}

// pass copies what src sends, and its end. After an error it closes both connections, so that
// the other direction ends too.
func pass(dst, src net.Conn) {
	_, err := io.Copy(dst, src) // within the kernel, by splice
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		dst.Close()
		src.Close()
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
