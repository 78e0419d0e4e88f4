package dial

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	"mcp-toolset/web/site"
)

// Limits of the answer of a proxy.
const (
	proxyTime  = 30 * time.Second // from the connection to the proxy to that to the site
	maxHeaders = 64 << 10         // bytes
)

// proxyPorts holds the ports of proxies whose URL does not write one.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// proxyError returns the error of a proxy in the form of net/http.
func proxyError(err error) error {
	return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
}

// proxy returns the proxy for a site: that of HTTP_PROXY for port 80, that of HTTPS_PROXY for
// any other; nil: none. As in net/http, a variable that holds no URL counts as missing.
func (d *Dialer) proxy(s site.Site) (*url.URL, error) {
	if d.Getenv == nil {
		return nil, nil
	}
	proxies := httpproxy.Config{NoProxy: d.env("NO_PROXY", "no_proxy"), HTTPProxy: d.env("HTTP_PROXY", "http_proxy"), HTTPSProxy: d.env("HTTPS_PROXY", "https_proxy")}
	scheme := "https"
	if s.Port == 80 {
		scheme = "http"
	}
	return proxies.ProxyFunc()(&url.URL{Scheme: scheme, Host: address(s)})
}

// env returns the value of the first variable that is set.
func (d *Dialer) env(names ...string) string {
	for _, name := range names {
		if value := d.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// address returns the host and the port of a site as package net writes them.
func address(s site.Site) string {
	return net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port)))
}

// through connects to a site through a proxy, which the user has configured, so that its own
// address is not judged.
func (d *Dialer) through(ctx context.Context, via *url.URL, s site.Site) (net.Conn, error) {
	port := proxyPorts[via.Scheme]
	if port == "" {
		return nil, errors.New("its URL has none of the schemes http, https, socks5 and socks5h")
	}
	if via.Port() != "" {
		port = via.Port()
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(via.Hostname(), port))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	out := conn
	switch via.Scheme {
	case "https":
		out = tls.Client(conn, &tls.Config{ServerName: via.Hostname(), RootCAs: d.Roots, MinVersion: tls.VersionTLS12})
		err = connect(out, via.User, s)
	case "http":
		err = connect(out, via.User, s)
	default:
		err = socks(ctx, conn, via.User, s)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return out, nil
}

// connect sends a CONNECT request and reads its answer, and no byte more.
func connect(conn net.Conn, user *url.Userinfo, s site.Site) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address(s)}, Host: address(s), Header: http.Header{"User-Agent": {"mcp-toolset"}}}
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
		req.Header["Proxy-Authorization"] = req.Header["Authorization"]
		delete(req.Header, "Authorization")
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytewise{io.LimitReader(conn, maxHeaders)}), req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("it answers " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	}
	return nil
}

// bytewise reads single bytes, so that no reader buffers more than it needs.
type bytewise struct{ io.Reader }

func (b bytewise) Read(p []byte) (int, error) { return b.Reader.Read(p[:min(1, len(p))]) }

// socks connects to a site through a SOCKS5 proxy.
func socks(ctx context.Context, conn net.Conn, user *url.Userinfo, s site.Site) error {
	var auth *proxy.Auth
	if user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", conn.RemoteAddr().String(), auth, already{conn})
	if err == nil {
		// The connection of dialer is conn with a wrapper, which lacks CloseWrite.
		_, err = dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", address(s))
	}
	return err
}

// already is a dialer that returns a connection.
type already struct{ conn net.Conn }

func (a already) Dial(string, string) (net.Conn, error) { return a.conn, nil }

func (a already) DialContext(context.Context, string, string) (net.Conn, error) { return a.conn, nil }
