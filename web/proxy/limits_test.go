package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	end   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.end.Do(func() { close(l.ended) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (l *pipes) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// TestTime checks when a connection is closed whose client does not send its request, and that
// one between two requests, and a tunnel, may wait longer.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		after      time.Duration
	}{
		{"nothing", "", headerTime}, {"a method", "GET http://", headerTime}, {"a SOCKS version", "\x05", headerTime}, {"a SOCKS method", "\x05\x01\x00", headerTime},
		{"a request", "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 0},
		{"a request of a connection that stays", "GET http://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", idleTime},
		{"a tunnel", socksTo("example.com", 22), 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, tunnel := newPipes(), make(chan net.Conn, 1)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go Serve(ctx, l, Options{Connect: func(context.Context, site.Site) (net.Conn, error) {
				client, server := net.Pipe()
				if c.name == "a tunnel" {
					tunnel <- server
					return client, nil
				}
				go func() {
					_, _ = http.ReadRequest(bufio.NewReader(server))
					_, _ = io.WriteString(server, "HTTP/1.1 204 No Content\r\n\r\n")
				}()
				return client, nil
			}})
			conn, began := l.dial(), time.Now()
			go func() { _, _ = io.WriteString(conn, c.sent) }()
			if c.name == "a tunnel" {
				go func() { time.Sleep(24 * time.Hour); (<-tunnel).Close() }()
			}
			_, err := io.Copy(io.Discard, conn)
			if took := time.Since(began); took != c.after || err != nil {
				t.Errorf("%s: the connection ended after %s, %v", c.name, took, err)
			}
		})
	}
}

// TestLinger checks that a client that sends more after an error, and reads nothing, does not
// hold the connection.
func TestLinger(t *testing.T) {
	f := start(t)
	conn := f.dial(t, "CONNECT refused.example:1 HTTP/1.1\r\nHost: x\r\n\r\n")
	for {
		if _, err := conn.Write(make([]byte, maxHeaders)); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is open")
			}
			return
		}
	}
}

// badListener fails once.
type badListener struct {
	*pipes
	failed bool
}

func (l *badListener) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, errors.New("too many open files")
	}
	return l.pipes.Accept()
}

// TestAccept checks that a failure to accept one connection does not end the proxy.
func TestAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &badListener{pipes: newPipes()}
		go Serve(t.Context(), l, Options{})
		conn := l.dial()
		go func() { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }()
		if data, err := io.ReadAll(conn); !bytes.Contains(data, []byte("this is a proxy")) {
			t.Errorf("%s, %v", data, err)
		}
		l.Close()
	})
}

// FuzzServe checks that any bytes lead to sites in normal form only, and end.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		socksTo("example.com", 443), "\x05\x02\x00\x02\x05\x01\x00\x04", "\x05\x01\x02\x01\x00\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "CONNECT example.com:443 HTTP/1.1\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST http://a:1/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x03\x030\x94a00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			l := newPipes()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				Serve(ctx, l, Options{Connect: func(_ context.Context, s site.Site) (net.Conn, error) {
					if host, err := site.ParseHost(s.Host); err != nil || host != s.Host || s.Port == 0 {
						t.Errorf("%q leads to %+v", data, s)
					}
					return nil, fault.New("refused", "")
				}})
			}()
			conn := l.dial()
			go func() { _, _ = conn.Write(data) }()
			_, _ = io.Copy(io.Discard, conn) // the limits of time end it
			conn.Close()
			stop()
			<-ended
		})
	})
}

// TestCurl checks that curl works with each variable unchanged, and that it shows a refusal.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	f := start(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page of "+r.Host) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	f.sites.Store("example.com:80", plain.Listener.Addr().String())
	f.sites.Store("example.com:443", secure.Listener.Addr().String())
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, url, want string }{
		{"http_proxy=http://" + f.addr, "http://example.com/", "page of example.com"},
		{"HTTPS_PROXY=http://" + f.addr, "https://example.com/", "page of example.com"},
		{"ALL_PROXY=socks5h://" + f.addr, "https://example.com/", "page of example.com"},
		{"ALL_PROXY=socks5h://" + f.addr, "http://example.com/", "page of example.com"},
		{"ALL_PROXY=socks5h://user:word@" + f.addr, "http://example.com/", "page of example.com"},
		{"http_proxy=http://" + f.addr, "http://other.example/", "mcp-toolset: nothing may connect to other.example:80. "},
		{"HTTPS_PROXY=http://" + f.addr, "https://other.example/", "403"},
		{"ALL_PROXY=socks5h://" + f.addr, "https://other.example/", "(2)"},
	} {
		cmd := exec.Command(curl, "-sS", "-m", "30", "--cacert", cert, c.url)
		cmd.Env = []string{c.env, "PATH=" + os.Getenv("PATH")}
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), c.want) {
			t.Errorf("%s %s: %s", c.env, c.url, out)
		}
	}
}

// exchange starts a server that reads in bytes of each connection and sends out bytes, over
// and over.
func exchange(b *testing.B, in, out int) string {
	return server(b, func(c *net.TCPConn) {
		for buf := make([]byte, 256<<10); transfer(in, buf, c.Read) == nil && transfer(out, buf, c.Write) == nil; {
		}
	})
}

// transfer reads or writes n bytes.
func transfer(n int, buf []byte, do func([]byte) (int, error)) error {
	for n > 0 {
		size, err := do(buf[:min(n, len(buf))])
		if err != nil {
			return err
		}
		n -= size
	}
	return nil
}

// BenchmarkThroughput compares a direct connection with a tunnel.
func BenchmarkThroughput(b *testing.B) {
	const size = 64 << 20
	tcp := start(b)
	for _, way := range []struct {
		name    string
		out, in int // of the client
	}{{"up", size, 1}, {"down", 1, size}} {
		to := exchange(b, way.out, way.in)
		tcp.sites.Store("example.com:1", to)
		for _, c := range []struct{ name, addr string }{{"direct", to}, {"tunnel", tcp.addr}} {
			b.Run(way.name+"/"+c.name, func(b *testing.B) {
				conn, err := net.Dial("tcp", c.addr)
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				if c.name != "direct" {
					_, _ = io.WriteString(conn, socksTo("example.com", 1))
					_, _ = io.ReadFull(conn, make([]byte, 12))
				}
				buf := make([]byte, 256<<10)
				b.SetBytes(size)
				for b.Loop() {
					if err := errors.Join(transfer(way.out, buf, conn.Write), transfer(way.in, buf, conn.Read)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLatency measures a connection, one byte there and one back.
func BenchmarkLatency(b *testing.B) {
	f := start(b)
	to := exchange(b, 1, 1)
	f.sites.Store("example.com:1", to)
	connect := "CONNECT example.com:1 HTTP/1.1\r\nHost: example.com:1\r\n\r\n"
	for _, c := range []struct {
		name, addr, request string
		answer              int
	}{{"direct", to, "", 0}, {"socks", f.addr, socksTo("example.com", 1), 12}, {"http", f.addr, connect, len("HTTP/1.1 200 Connection established\r\n\r\n")}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				conn, err := net.Dial("tcp", c.addr)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.WriteString(conn, c.request)
				_, err = io.ReadFull(conn, make([]byte, c.answer))
				if err == nil {
					_, _ = conn.Write([]byte{1})
					_, err = io.ReadFull(conn, make([]byte, 1))
				}
				if err != nil {
					b.Fatal(err)
				}
				conn.Close()
			}
		})
	}
}
