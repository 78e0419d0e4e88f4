package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	netproxy "golang.org/x/net/proxy"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/web/site"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixture is a proxy whose sites are servers of the test, by host and port.
type fixture struct {
	addr      string
	sites     sync.Map // to addresses or errors
	connects  atomic.Int64
	asked     chan struct{} // nil, or one for each call of connect
	mu        sync.Mutex
	refusals  []string
	stop      context.CancelFunc
	done      chan struct{}
	connected sync.Map // server connections that were made
}

func start(t testing.TB) *fixture {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{addr: l.Addr().String()}
	f.serve(t, l)
	return f
}

// serve serves the clients of l until the test ends.
func (f *fixture) serve(t testing.TB, l net.Listener) {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done = stop, make(chan struct{})
	go func() {
		defer close(f.done)
		Serve(ctx, l, Options{Connect: f.connect, Failed: func(s site.Site, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			var refusal *fault.Fault
			f.refusals = append(f.refusals, fmt.Sprintf("%s: %s (refusal: %t)", s, err, errors.As(err, &refusal)))
		}})
	}()
	t.Cleanup(func() { stop(); <-f.done })
}

func (f *fixture) connect(ctx context.Context, s site.Site) (net.Conn, error) {
	f.connects.Add(1)
	if f.asked != nil {
		f.asked <- struct{}{}
	}
	to, ok := f.sites.Load(net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))))
	if !ok {
		return nil, fault.New("nothing may connect to "+s.String(), "Ask the user to allow it with the rule WebFetch(domain:"+s.Host+").")
	}
	switch to := to.(type) {
	case error:
		return nil, to
	case string:
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
		if err == nil {
			f.connected.Store(conn, true)
		}
		return conn, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// refused returns what Failed was called with since the last call.
func (f *fixture) refused() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.Join(f.refusals, "\n")
	f.refusals = nil
	return text
}

// dial returns a connection to the proxy. It sends a text.
func (f *fixture) dial(t testing.TB, text string) *net.TCPConn {
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // a test that hangs fails
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// socksTo returns the bytes of a SOCKS request for a site.
func socksTo(host string, port int) string {
	return "\x05\x01\x00\x05\x01\x00\x03" + string(rune(len(host))) + host + string([]byte{byte(port >> 8), byte(port)})
}

// server starts a server of a test and returns its address.
func server(t testing.TB, handle func(*net.TCPConn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() { l.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			})
		}
	})
	return l.Addr().String()
}

// timeout is an error of a connection that takes too long.
type timeout struct{ error }

func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// TestErrors checks each answer to a client that gets no connection.
func TestErrors(t *testing.T) {
	t.Parallel() // net/http waits before it closes some connections
	f := start(t)
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	hosts := []struct {
		name string
		err  error
	}{
		{"allowed.not", nil},
		{"umlaut.not", fault.New("„ümlaut“ is…\nrefused", "")},
		{"long.not", fault.New(strings.Repeat("long ", 100), "Next.")},
		{"unserved.not", fmt.Errorf("%w (%w)", fault.New("nothing listens", "Start `it`."), syscall.ECONNREFUSED)},
		{"quoted.not", fault.New("it is refused", "Run `approve 7`.")},
		{"missing.example", &net.DNSError{Err: "no such host", Name: "missing.example.", IsNotFound: true}},
		{"noserver.example", &net.DNSError{Err: "server misbehaving", Name: "noserver.example."}},
		{"closed.example", op(os.NewSyscallError("connect", syscall.ECONNREFUSED))},
		{"offline.example", op(os.NewSyscallError("connect", syscall.ENETUNREACH))},
		{"noroute.example", op(os.NewSyscallError("connect", syscall.EHOSTUNREACH))},
		{"slow.example", op(timeout{errors.New("i/o timeout")})},
		{"slower.example", context.DeadlineExceeded},
		{"corporate.example", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("it answers 403 Forbidden")}},
		{"odd.example", errors.New("an odd\r\nerror")},
	}
	var got strings.Builder
	show := func(name, text string, conn *net.TCPConn) {
		data, err := io.ReadAll(conn)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer := strings.ReplaceAll(string(data), "\r\n", "\n")
		if len(data) == 0 || data[0] == socksVersion {
			answer = fmt.Sprintf("% x\n", data)
		}
		if date := strings.Index(answer, "Date: "); date >= 0 {
			answer = answer[:date] + "Date: DATE" + answer[strings.Index(answer[date:], "\n")+date:]
		}
		fmt.Fprintf(&got, "== %s: %s\n%s\n", name, text, strings.TrimSuffix(answer, "\n"))
		if refused := f.refused(); refused != "" {
			fmt.Fprintf(&got, "Failed: %s\n", refused)
		}
		conn.Close()
	}
	for _, h := range hosts {
		for _, port := range []string{":80", ":443"} {
			if h.err != nil {
				f.sites.Store(h.name+port, h.err)
			}
		}
		show(h.name, "GET", f.dial(t, "GET http://"+h.name+"/a HTTP/1.1\r\nHost: "+h.name+"\r\nConnection: close\r\n\r\n"))
		show(h.name, "CONNECT", f.dial(t, "CONNECT "+h.name+":443 HTTP/1.1\r\nHost: "+h.name+"\r\n\r\n"))
		show(h.name, "SOCKS", f.dial(t, socksTo(h.name, 443)))
	}
	f.sites.Store("ends.example:80", server(t, func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 4096)) }))
	f.sites.Store("garbage.example:80", server(t, func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 4096)); fmt.Fprint(c, "garbage\r\n\r\n") }))
	f.sites.Store("headers.example:80", server(t, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 4096))
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nA: %s\r\n\r\n", strings.Repeat("a", 2*maxHeaders))
	}))
	get := func(target string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	}
	for _, c := range []struct{ name, sent string }{
		{"the server ends", get("http://ends.example/")},
		{"garbage", get("http://garbage.example/")},
		{"headers of the server", get("http://headers.example/")},
		{"origin form", get("/a")},
		{"star", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"https", get("https://allowed.not/")},
		{"ftp", get("ftp://allowed.not/")},
		{"number", get("http://127.1/")},
		{"port 0", get("http://allowed.not:0/")},
		{"zone", get("http://[fe80::1%25eth0]/")},
		{"CONNECT to a number", "CONNECT 2130706433:80 HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"CONNECT without a port", "CONNECT allowed.not HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"CONNECT to a path", "CONNECT /allowed.not HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"no HTTP", "hello\r\n\r\n"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("x", 502)},
		{"large headers", "GET http://a/ HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", maxHeaders+8<<10) + "\r\n\r\n"},
		{"SOCKS4", "\x04\x01\x01\xbb\x0a\x00\x00\x01\x00"},
		{"SOCKS with GSSAPI only", "\x05\x01\x01"},
		{"SOCKS BIND", "\x05\x01\x00\x05\x02\x00\x01\x0a\x00\x00\x01\x01\xbb"},
		{"SOCKS UDP", "\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"SOCKS address type", "\x05\x01\x00\x05\x01\x00\x09"},
		{"SOCKS to a number", socksTo("0x7f.1", 80)},
		{"SOCKS to a text", socksTo("a\r\nb", 80)},
		{"SOCKS to nothing", socksTo("", 80)},
		{"SOCKS port 0", socksTo("allowed.not", 0)},
		{"SOCKS to IPv4", "\x05\x01\x00\x05\x01\x00\x01\x0a\x00\x00\x01\x01\xbb"},
		{"SOCKS to IPv6", "\x05\x01\x00\x05\x01\x00\x04\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x01\x00\x50"},
		{"SOCKS to IPv4 in IPv6", "\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50"},
		{"SOCKS version", "\x05\x01\x00\x04"},
	} {
		shown := c.sent
		if len(shown) > 100 {
			shown = shown[:40] + "..."
		}
		conn := f.dial(t, c.sent)
		if c.sent[0] == socksVersion { // a client of HTTP that ends has left
			_ = conn.CloseWrite()
		}
		show(c.name, strconv.Quote(shown), conn)
	}
	golden := filepath.Join("testdata", "errors.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("errors differ from %s; run the test with -update and read the diff:\n%s", golden, got.String())
	}
}

// client returns an HTTP client that uses the proxy, with the certificate of a server.
func (f *fixture) client(t testing.TB, of *httptest.Server) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: f.addr}), ExpectContinueTimeout: time.Minute}
	if of != nil {
		tr.TLSClientConfig = of.Client().Transport.(*http.Transport).TLSClientConfig
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// TestHTTP checks requests for http and https URLs: bodies of every kind, and that one
// connection serves several.
func TestHTTP(t *testing.T) {
	f := start(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Length", fmt.Sprint(r.ContentLength))
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	f.sites.Store("example.com:80", plain.Listener.Addr().String())
	f.sites.Store("example.com:443", secure.Listener.Addr().String())
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	for _, scheme := range []string{"http", "https"} {
		c := f.client(t, secure)
		before := f.connects.Load()
		for _, b := range []struct {
			name   string
			body   io.Reader
			want   []byte
			length string
		}{
			{"none", nil, nil, "0"}, {"small", strings.NewReader("a"), []byte("a"), "1"}, {"large", bytes.NewReader(large), large, fmt.Sprint(len(large))},
			{"chunked", struct{ io.Reader }{bytes.NewReader(large)}, large, "-1"},
		} {
			resp, err := c.Post(scheme+"://example.com/a", "text/plain", b.body)
			if err != nil {
				t.Fatal(scheme, b.name, err)
			}
			data, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(data, b.want) || resp.Header.Get("X-Length") != b.length {
				t.Errorf("%s, %s: %d bytes, %v, length %s", scheme, b.name, len(data), err, resp.Header.Get("X-Length"))
			}
		}
		if n := f.connects.Load() - before; n != 1 {
			t.Errorf("%s: %d connections for 4 requests", scheme, n)
		}
		c.CloseIdleConnections()
	}
}

// TestUnchanged checks the bytes of a request and a response that are forwarded: hop-by-hop
// headers are removed, and nothing is added.
func TestUnchanged(t *testing.T) {
	f := start(t)
	got := make(chan string, 1)
	f.sites.Store("example.com:8080", server(t, func(c *net.TCPConn) {
		r, text := bufio.NewReader(c), ""
		for !strings.HasSuffix(text, "\r\n\r\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			text += line
		}
		got <- text
		fmt.Fprint(c, "HTTP/1.1 200 Fine\r\nX-Empty:\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 6\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n<html>")
	}))
	conn := f.dial(t, "GET http://Example.COM:8080/a%2Fb//c?x=1;y=%zz&q=%20 HTTP/1.1\r\nHost: other.example\r\nX-Forwarded-For: 10.0.0.1\r\nX-Hop: 1\r\nConnection: X-Hop, close\r\n"+
		"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic YTpi\r\nAuthorization: Basic YzpkCg==\r\nTe: trailers\r\n\r\n")
	want := "GET /a%2Fb//c?x=1;y=%zz&q=%20 HTTP/1.1\r\nHost: Example.COM:8080\r\nAuthorization: Basic YzpkCg==\r\nTe: trailers\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n"
	if sent := <-got; sent != want {
		t.Errorf("the server got\n%s\nnot\n%s", sent, want)
	}
	data, _ := io.ReadAll(conn)
	if want := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Empty: \r\nConnection: close\r\n\r\n<html>"; string(data) != want {
		t.Errorf("the client got\n%s\nnot\n%s", data, want)
	}
}

// TestContinue checks that a client that waits for 100 Continue gets the server's, or its refusal.
func TestContinue(t *testing.T) {
	f := start(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.Copy(w, r.Body)
	}))
	defer s.Close()
	f.sites.Store("example.com:80", s.Listener.Addr().String())
	for path, want := range map[string]string{"/": "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", "/refuse": "HTTP/1.1 403 Forbidden\r\n"} {
		conn := f.dial(t, "POST http://example.com"+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Fatalf("%s: %q, %v", path, got, err)
		}
		if path == "/" {
			fmt.Fprint(conn, "body")
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			if err == nil && resp.StatusCode == http.StatusContinue {
				resp, err = http.ReadResponse(r, nil) // the server's and that of the proxy may both come
			}
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(resp.Body); string(data) != "body" {
				t.Errorf("%q, %v", data, err)
			}
		}
		conn.Close()
	}
}

// TestUpgrade checks that a WebSocket passes, and ends with either side.
func TestUpgrade(t *testing.T) {
	f := start(t)
	f.sites.Store("example.com:80", server(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil || req.Header.Get("Upgrade") != "websocket" {
			return
		}
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello ")
		_, _ = io.Copy(c, r)
		fmt.Fprint(c, " bye")
	}))
	conn := f.dial(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	fmt.Fprint(conn, "frames")
	_ = conn.CloseWrite()
	if data, err := io.ReadAll(r); string(data) != "hello frames bye" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestSOCKS checks connections by name, IPv4 and IPv6, with and without a password.
func TestSOCKS(t *testing.T) {
	f := start(t)
	to := server(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	for _, host := range []string{"example.com:22", "10.0.0.1:22", "[2001:db8::1]:22"} {
		f.sites.Store(host, to)
		for _, auth := range []*netproxy.Auth{nil, {User: "ann", Password: "word"}} {
			dialer, err := netproxy.SOCKS5("tcp", f.addr, auth, nil)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := dialer.Dial("tcp", host)
			if err != nil {
				t.Fatal(host, err)
			}
			fmt.Fprint(conn, "hello")
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
				t.Error(host, err)
			}
			conn.Close()
		}
	}
	// With a password only, as some clients offer.
	conn := f.dial(t, "\x05\x01\x02\x01\x03ann\x04word\x05\x01\x00\x03\x0bexample.com\x00\x16early")
	want := "\x05\x02\x01\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00early"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("% x, %v", got, err)
	}
}

// TestHalfClose checks that the end of one direction leaves the other open, and that bytes sent
// with the request arrive.
func TestHalfClose(t *testing.T) {
	f, got := start(t), make(chan string, 1)
	f.sites.Store("example.com:1", server(t, func(c *net.TCPConn) {
		data, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %s", data)
	}))
	f.sites.Store("example.com:2", server(t, func(c *net.TCPConn) {
		fmt.Fprint(c, "hello")
		_ = c.CloseWrite()
		data, _ := io.ReadAll(c)
		got <- string(data)
	}))
	for _, name := range []string{"HTTP", "SOCKS"} {
		request := func(port int) string {
			if name == "SOCKS" {
				return socksTo("example.com", port) + "early "
			}
			return fmt.Sprintf("CONNECT example.com:%d HTTP/1.1\r\nHost: x\r\n\r\nearly ", port)
		}
		skip := map[string]int{"HTTP": len("HTTP/1.1 200 Connection established\r\n\r\n"), "SOCKS": 12}[name]
		conn := f.dial(t, request(1))
		_, _ = io.ReadFull(conn, make([]byte, skip))
		fmt.Fprint(conn, "late")
		_ = conn.CloseWrite()
		if data, err := io.ReadAll(conn); string(data) != "got early late" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		conn = f.dial(t, request(2))
		if data, err := io.ReadAll(conn); !strings.HasSuffix(string(data), "hello") {
			t.Errorf("%s, the server ends first: %q, %v", name, data, err)
		}
		fmt.Fprint(conn, "late")
		_ = conn.CloseWrite()
		if text := <-got; text != "early late" {
			t.Errorf("%s: the server got %q", name, text)
		}
	}
}

// TestReset checks that a tunnel ends in both directions after a reset.
func TestReset(t *testing.T) {
	f := start(t)
	closed := make(chan error, 1)
	f.sites.Store("example.com:1", server(t, func(c *net.TCPConn) {
		fmt.Fprint(c, "x")
		_, err := io.Copy(io.Discard, c)
		closed <- err
	}))
	conn := f.dial(t, socksTo("example.com", 1))
	_, _ = io.ReadFull(conn, make([]byte, 13))
	_ = conn.SetLinger(0)
	conn.Close()
	<-closed
}

// TestLimit checks that connections above the limit wait.
func TestLimit(t *testing.T) {
	f := start(t)
	f.sites.Store("example.com:1", server(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) }))
	established := make([]byte, 12)
	conns := []*net.TCPConn{}
	for range maxConns {
		conn := f.dial(t, socksTo("example.com", 1))
		if _, err := io.ReadFull(conn, established); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	more := f.dial(t, socksTo("example.com", 1))
	_ = more.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := more.Read(established); !errors.Is(err, os.ErrDeadlineExceeded) || f.connects.Load() != maxConns {
		t.Errorf("connection %d: %d bytes, %v", maxConns+1, n, err)
	}
	conns[7].Close()
	_ = more.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadFull(more, established); err != nil {
		t.Errorf("after another has ended: %v", err)
	}
}

// TestEnd checks that the end of the context closes every connection, whatever it does, and that
// nothing is left.
func TestEnd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, end := range map[string]func(*fixture, net.Listener){
		"context": func(f *fixture, _ net.Listener) { f.stop() }, "listener": func(_ *fixture, l net.Listener) { l.Close() },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{addr: l.Addr().String(), asked: make(chan struct{}, 20)}
		f.serve(t, l)
		s, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
		if err != nil {
			t.Fatal(err)
		}
		f.sites.Store("silent.example:80", s.Addr().String())
		f.sites.Store("asking.example:80", true)
		ok := httptest.NewServer(http.NotFoundHandler())
		f.sites.Store("ok.example:80", ok.Listener.Addr().String())
		head := " HTTP/1.1\r\nHost: x\r\n"
		conns := []*net.TCPConn{}
		for _, text := range []string{
			"", "\x05", "\x05\x01\x00", "GET http", "GET http://silent.example/" + head + "\r\n", "POST http://silent.example/" + head + "Content-Length: 10\r\n\r\nx",
			"CONNECT silent.example:80" + head + "\r\n", "CONNECT asking.example:80" + head + "\r\n", "GET http://asking.example/" + head + "\r\n", "GET http://ok.example/" + head + "\r\n",
			socksTo("silent.example", 80), socksTo("asking.example", 80), "CONNECT refused.example:80" + head + "\r\n",
		} {
			conns = append(conns, f.dial(t, text))
		}
		for range 9 {
			<-f.asked
		}
		end(f, l)
		<-f.done
		if n := f.connects.Load(); n != 9 {
			t.Errorf("%s: %d connections to sites", name, n)
		}
		f.connected.Range(func(conn, _ any) bool {
			if err := conn.(net.Conn).SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: a connection to a site is open: %v", name, err)
			}
			return true
		})
		for i, conn := range conns {
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: connection %d is open", name, i)
			}
			conn.Close()
		}
		s.Close()
		ok.Close()
	}
}

// TestPolicyAgain checks that a connection to a server serves one client only, so that the next
// one is judged anew.
func TestPolicyAgain(t *testing.T) {
	f := start(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	f.sites.Store("example.com:80", s.Listener.Addr().String())
	for i, want := range []int{http.StatusNotFound, http.StatusForbidden} {
		c := f.client(t, nil)
		resp, err := c.Get("http://example.com/")
		if err != nil || resp.StatusCode != want {
			t.Errorf("client %d: %v, %v", i, resp, err)
		}
		resp.Body.Close()
		f.sites.Delete("example.com:80")
	}
}
