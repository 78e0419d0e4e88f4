package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// failure is the reason why a client gets no connection, in the forms of HTTP and SOCKS.
type failure struct {
	*fault.Fault
	status int   // of HTTP
	reply  byte  // of SOCKS
	cause  error // of Connect; nil: the client
}

// Unwrap returns the cause: a *fault.Fault for a refusal.
func (f *failure) Unwrap() error {
	if f.cause == nil {
		return f.Fault
	}
	return f.cause
}

// again is the next step after a failure that may pass.
const again = "Try again later."

// noTLS is the answer to a client that begins with TLS.
var noTLS = &failure{Fault: fault.New("the client speaks TLS to the proxy", "Use a proxy URL that begins with http:// or socks5h://, also for https."), status: http.StatusBadRequest}

// siteOf returns the site of a host and a port that a client has written.
func siteOf(host, port string) (site.Site, *failure) {
	refuse := func(fact string) (site.Site, *failure) {
		return site.Site{}, &failure{Fault: fault.New(fact, "Name the host in full and the port as a number, as in example.com:443."), status: http.StatusBadRequest, reply: replyHost}
	}
	if port == "" {
		return refuse("the request names no port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return refuse(plain.Quote(port) + " is not a port")
	}
	name, err := site.ParseHost(host)
	if err != nil {
		return refuse(plain.Quote(host) + " is not a host name or an address")
	}
	return site.Site{Host: name, Port: uint16(n)}, nil
}

// failed returns the failure for an error of Connect.
func failed(s site.Site, err error) *failure {
	fail := func(status int, reply byte, fact, next string) *failure {
		return &failure{fault.New(fact, next), status, reply, err}
	}
	var (
		refusal *fault.Fault
		dns     *net.DNSError
		op      *net.OpError
	)
	is := func(target any) bool { return errors.As(err, target) }
	switch {
	case is(&refusal) && errors.Is(err, syscall.ECONNREFUSED):
		return &failure{refusal, http.StatusBadGateway, replyClosed, err}
	case is(&refusal):
		return &failure{refusal, http.StatusForbidden, replyRefused, err}
	case is(&op) && op.Op == "proxyconnect":
		return fail(http.StatusBadGateway, replyFailed, fmt.Sprintf("the user's proxy does not connect to %s: %s", s, shown(op.Err)), "Ask the user to check HTTPS_PROXY and HTTP_PROXY.")
	case is(&dns) && dns.IsNotFound:
		return fail(http.StatusBadGateway, replyHost, "there is no host "+plain.Quote(s.Host), "Check the spelling of the host.")
	case is(&dns):
		return fail(http.StatusGatewayTimeout, replyHost, "the name server does not answer for "+plain.Quote(s.Host), again)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(http.StatusBadGateway, replyClosed, fmt.Sprintf("nothing answers at %s: connection refused", s), "Check the host and the port.")
	case errors.Is(err, syscall.ENETUNREACH):
		return fail(http.StatusBadGateway, replyNetwork, fmt.Sprintf("this machine has no network that leads to %s", s), "Use another host, or ask the user.")
	case errors.Is(err, syscall.EHOSTUNREACH):
		return fail(http.StatusBadGateway, replyHost, fmt.Sprintf("no network leads to %s", s), again)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), is(&op) && op.Timeout():
		return fail(http.StatusGatewayTimeout, replyHost, fmt.Sprintf("%s does not answer", s), again)
	}
	return fail(http.StatusBadGateway, replyFailed, fmt.Sprintf("the connection to %s has failed: %s", s, shown(err)), again)
}

// shown returns an error that is safe to show.
func shown(err error) string { return plain.Cut(plain.Line(err.Error()), 200) }

// text returns the failure for the output of a command, in which other programs write too. A
// shell may read it: curl URL | sh.
func (f *failure) text() string { return "mcp-toolset: " + strings.ReplaceAll(f.Error(), "`", "'") }

// maxPhrase is the limit of a reason phrase, in bytes. It leaves a line of output readable.
const maxPhrase = 250

// phrase returns the text as a reason phrase, which many clients show, and little else.
func (f *failure) phrase() string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.ReplaceAll(plain.Line(f.text()), "…", "..."))
	if len(ascii) > maxPhrase {
		ascii = ascii[:maxPhrase-3] + "..."
	}
	return ascii
}

// answer sends a failure as a whole HTTP response, and closes the stream.
func answer(conn net.Conn, f *failure) {
	body := f.text() + "\n"
	_, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", f.status, f.phrase(), len(body), body)
	if err == nil {
		linger(conn)
	}
}
