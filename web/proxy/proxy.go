// Package proxy serves the proxy through which contained commands reach the network: HTTP
// CONNECT, requests for http URLs, and SOCKS5, on one listener. It reads strictly which site a
// client means. Its caller decides on each connection.
package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"mcp-toolset/web/site"
)

// Limits of a proxy. There is none on the time of a tunnel, which may wait for hours, as one of
// a debugger does. It ends with the command.
const (
	maxConns   = 256              // at once; package managers open some dozens. More connections wait
	maxHeaders = 64 << 10         // bytes of a request or a response; servers commonly take 8 to 64 KiB
	headerTime = 30 * time.Second // for the headers of a request or a SOCKS handshake, which clients send at once
	idleTime   = 2 * time.Minute  // between two requests of a connection; clients close idle ones after 1 to 5 minutes
	lingerTime = time.Second      // for a client to read an error before its connection is closed
	retryTime  = 100 * time.Millisecond
)

// Options configures Serve.
type Options struct {
	// Connect connects to a site. It may take its time, for example to ask the user, but returns
	// soon after its context has ended. A *fault.Fault is a refusal: the client gets its text.
	Connect func(context.Context, site.Site) (net.Conn, error)

	// Failed, if not nil, is called after a connection was refused or has failed, also by
	// several goroutines at once. The site is zero if the client has named none that can be
	// read. The error has a text for a model, and wraps that of Connect, so that a refusal is
	// a *fault.Fault.
	Failed func(site.Site, error)

	Log *slog.Logger // nil: none
}

// Serve serves the clients of l until ctx ends or l is closed. Then it closes l and all
// connections, and returns when all have ended.
func Serve(ctx context.Context, l net.Listener, o Options) {
	if o.Failed == nil {
		o.Failed = func(site.Site, error) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &proxy{o}
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { l.Close() })
	slots := make(chan struct{}, maxConns)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := l.Accept()
		switch {
		case err == nil:
			clients.Go(func() {
				defer func() { <-slots }()
				p.serve(ctx, conn)
			})
			continue
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		}
		<-slots
		p.Log.Warn("the proxy cannot accept a connection", "error", err)
		select { // no descriptor is free, for example
		case <-time.After(retryTime):
		case <-ctx.Done():
		}
	}
}

// proxy serves connections.
type proxy struct{ Options }

// serve serves a connection and closes it.
func (p *proxy) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(headerTime))
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return
	}
	switch first[0] {
	case socksVersion:
		p.socks(ctx, conn)
	case 0x16: // a TLS handshake
		answer(conn, noTLS)
	default:
		_ = conn.SetDeadline(time.Time{})
		p.http(ctx, &prefixed{conn, first})
	}
}

// connect connects to a site. It reports a failure, and returns it for the client.
func (p *proxy) connect(ctx context.Context, s site.Site) (net.Conn, *failure) {
	conn, err := p.Connect(ctx, s)
	if err == nil {
		return conn, nil
	}
	f := failed(s, err)
	if ctx.Err() == nil { // otherwise the client has left
		p.report(s, f)
	}
	return nil, f
}

// report reports a failure.
func (p *proxy) report(s site.Site, f *failure) {
	p.Log.Debug("the proxy has not connected", "site", s.String(), "status", f.status, "error", f.Unwrap())
	p.Failed(s, f)
}

// prefixed is a connection whose first bytes have been read.
type prefixed struct {
	net.Conn
	first []byte
}

func (c *prefixed) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite passes the end of a stream on.
func (c *prefixed) CloseWrite() error { return closeWrite(c.Conn) }
