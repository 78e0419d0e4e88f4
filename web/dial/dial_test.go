package dial

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/web/site"
)

var errRefused = errors.New("the policy refuses it")

// greeter returns the site of a server that speaks first and then repeats what it gets.
func greeter(t *testing.T) site.Site {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				fmt.Fprintln(conn, "hello")
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return siteOf(l.Addr())
}

func siteOf(a net.Addr) site.Site {
	at := a.(*net.TCPAddr).AddrPort()
	return site.Site{Host: at.Addr().String(), Port: at.Port()}
}

// talk returns what the server of greeter sends.
func talk(conn net.Conn) string {
	defer conn.Close()
	fmt.Fprint(conn, "bye")
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	data, _ := io.ReadAll(conn)
	return string(data)
}

// TestDirect checks the order of addresses, and that each is judged where it is used.
func TestDirect(t *testing.T) {
	s := greeter(t)
	parse := func(text string) (list []netip.Addr) {
		for _, a := range strings.Fields(text) {
			list = append(list, netip.MustParseAddr(a))
		}
		return list
	}
	if got, want := alternate(parse("::1 ::2 ::3 10.0.0.1 10.0.0.2")), parse("::1 10.0.0.1 ::2 10.0.0.2 ::3"); !slices.Equal(got, want) {
		t.Errorf("order of addresses: %v", got)
	}
	checked := ""
	d := &Dialer{Check: func(s site.Site, addr netip.Addr) error {
		if checked += addr.String() + " "; addr == netip.MustParseAddr("127.0.0.3") {
			return errRefused
		}
		return nil
	}}
	if conn, err := d.direct(t.Context(), s, parse("127.0.0.2 127.0.0.1")); err != nil || talk(conn) != "hello\nbye" {
		t.Errorf("the second address: %v", err)
	}
	if checked != "127.0.0.2 127.0.0.1 " {
		t.Errorf("checked %s", checked)
	}
	if _, err := d.Connect(t.Context(), site.Site{Host: "127.0.0.3", Port: s.Port}); err != errRefused {
		t.Errorf("a refused address: %v", err)
	}
	if _, err := d.direct(t.Context(), s, parse("127.0.0.3")); !errors.Is(err, errRefused) {
		t.Errorf("an address that changes: %v", err)
	}
	conn, err := d.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := conn.(*net.TCPConn); !ok || talk(conn) != "hello\nbye" {
		t.Errorf("a connection is a %T", conn)
	}
}

// httpProxy returns a proxy that connects to one site, whatever it is asked for.
func httpProxy(t *testing.T, to site.Site, asked *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		if *asked = fmt.Sprint(r.Method, " ", r.Host, " ", user, ":", password, " ", r.Header.Get("Authorization")); password == "wrong" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", address(to))
		if err != nil {
			t.Error(err)
			return
		}
		hello := make([]byte, len("hello\n"))
		_, _ = io.ReadFull(out, hello)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n%s", hello) // in one packet
		relay(conn, out)
	})
}

func relay(in, out net.Conn) {
	go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
	_, _ = io.Copy(in, out)
	in.Close()
}

// socksProxy starts a SOCKS5 proxy that connects to one site and wants a password.
func socksProxy(t *testing.T, to site.Site, asked *string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		r := bufio.NewReader(conn)
		next := func(n int) []byte { b := make([]byte, n); _, _ = io.ReadFull(r, b); return b }
		next(int(next(2)[1]))
		_, _ = conn.Write([]byte{5, 2})
		user := string(next(int(next(2)[1])))
		password := string(next(int(next(1)[0])))
		_, _ = conn.Write([]byte{1, 0})
		name := string(next(int(next(5)[4])))
		*asked = fmt.Sprint(name, " ", binary.BigEndian.Uint16(next(2)), " ", user, ":", password)
		out, err := net.Dial("tcp", address(to))
		if err != nil {
			t.Error(err)
		}
		_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		relay(conn, out)
	}()
	return l.Addr().String()
}

// TestProxies checks connections through each kind of proxy, with the judgement of addresses.
func TestProxies(t *testing.T) {
	to := greeter(t)
	var asked string
	plain := httptest.NewServer(httpProxy(t, to, &asked))
	defer plain.Close()
	secure := httptest.NewTLSServer(httpProxy(t, to, &asked))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	with := func(user, url string) string { return strings.Replace(url, "://", "://"+user+"@", 1) }
	socks := "socks5://ann:word@" + socksProxy(t, to, &asked)
	host := func(name string) site.Site { return site.Site{Host: name, Port: 443} }
	for _, c := range []struct {
		name       string
		env        string
		to         site.Site
		want, text string // what the proxy was asked for, and the error
	}{
		{"http", "HTTPS_PROXY=" + plain.URL, host("10.0.0.1"), "CONNECT 10.0.0.1:443 : ", ""},
		{"password", "https_proxy=" + with("ann:word", plain.URL), host("2001:db8::1"), "CONNECT [2001:db8::1]:443 ann:word ", ""},
		{"TLS", "HTTPS_PROXY=" + with("ann:word", secure.URL), host("10.0.0.1"), "CONNECT 10.0.0.1:443 ann:word ", ""},
		{"socks", "HTTPS_PROXY=" + socks, host("unknown.example"), "unknown.example 443 ann:word", ""},
		{"port 80", "HTTP_PROXY=" + plain.URL, site.Site{Host: "10.0.0.1", Port: 80}, "CONNECT 10.0.0.1:80 : ", ""},
		{"no proxy", "HTTPS_PROXY=" + plain.URL + ",NO_PROXY=127.0.0.2", to, "", ""},
		{"refused", "HTTPS_PROXY=" + plain.URL, host("10.6.6.6"), "", "the policy refuses it"},
		{"refused name", "HTTPS_PROXY=" + plain.URL, host("secret.example"), "", "the policy refuses it"},
		{"wrong password", "HTTPS_PROXY=" + with("ann:wrong", plain.URL), host("10.0.0.1"), "CONNECT 10.0.0.1:443 ann:wrong ", "proxyconnect tcp: it answers 407 Proxy Authentication Required"},
		{"scheme", "HTTPS_PROXY=gopher://ann:word@a", host("10.0.0.1"), "", "proxyconnect tcp: its URL has none of the schemes http, https, socks5 and socks5h"},
	} {
		env := map[string]string{}
		for _, kv := range strings.Split(c.env, ",") {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		asked = ""
		d := Dialer{Roots: roots, Getenv: func(k string) string { return env[k] }, Check: func(s site.Site, addr netip.Addr) error {
			if s.Host == "10.6.6.6" && addr.IsValid() || s.Host == "secret.example" && !addr.IsValid() {
				return errRefused
			}
			return nil
		}, Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("there is no name server")
		}}}
		conn, err := d.Connect(t.Context(), c.to)
		got := ""
		if err != nil {
			got = err.Error()
		} else if text := talk(conn); text != "hello\nbye" {
			t.Errorf("%s: %q", c.name, text)
		}
		if got != c.text || asked != c.want {
			t.Errorf("%s: asked for %q, %s", c.name, asked, got)
		}
	}
}
