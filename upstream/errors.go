package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Text from a server is untrusted: before it appears in an error, it is reduced
// to one line of limited length without hidden characters.

// line reduces untrusted text to one line that is safe to show.
func line(s string) string { return plain.Line(strings.Join(strings.Fields(s), " ")) }

// failure is the reason why a server is not connected, as a phrase that begins
// with "it".
type failure struct {
	reason string
	next   string // the step that helps, if the user must do it; "" if trying again may help
}

func (f *failure) Error() string { return f.reason }

// Errors that end connections and calls.
var (
	errSilent   = errors.New("no sign of life")
	errTooLong  = errors.New("an answer is too long")
	errRedirect = errors.New("redirected to another origin")
	errLost     = errors.New("the connection was lost")
)

func errClosing() error {
	return fault.New("this server is ending", "Nothing more can be called.")
}

// again returns when a failed server is tried again, as a phrase. The caller
// must hold the lock.
func (s *server) again(now time.Time) string {
	if wait := s.retry.Sub(now); wait > 0 {
		return "it is tried again in " + seconds(wait)
	}
	return "it is tried again with the next call"
}

// seconds formats a duration, rounded up to full seconds.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", (d+time.Second-1)/time.Second)
}

// unreachable returns the error of a call that has no connection. The caller
// must hold the lock, or be the only user of f.
func (s *server) unreachable(f *failure) error {
	next := "Do it another way; " + s.again(s.m.Now()) + "."
	if f.next != "" {
		next = f.next
	}
	return fault.New(fmt.Sprintf("the server %s cannot be reached: %s", line(s.Name), f.reason), next)
}

// barred returns the error of a call to a server that is never started.
func (s *server) barred() error {
	if s.Refused != "" {
		return fault.New(fmt.Sprintf("the server %s may not be used: %s", line(s.Name), line(s.Refused)), "Do it another way.")
	}
	return fault.New(fmt.Sprintf("the server %s cannot be started: %s", line(s.Name), line(s.Broken)), "Ask the user to mend it in the settings, or do it another way.")
}

// explain returns the reason why an attempt to connect failed.
func (s *server) explain(ctx context.Context, err error) *failure {
	var f *failure
	switch x := answered(err); {
	case errors.As(err, &f):
		return f
	case s.m.ctx.Err() != nil:
		return &failure{reason: "it is being ended"}
	case ctx.Err() != nil:
		return &failure{reason: "it does not answer within " + seconds(s.m.ConnectTimeout)}
	case x != nil && x.rpc != nil && x.status < http.StatusBadRequest:
		return &failure{reason: "it refuses to be connected: " + line(x.rpc.Message)}
	case x != nil:
		if f := byStatus(x.status); f != nil {
			return f
		}
	}
	return byNetwork(err)
}

// byStatus explains an HTTP status. It returns nil if the status is no error.
func byStatus(status int) *failure {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &failure{
			reason: fmt.Sprintf("it refuses access (HTTP status %d)", status),
			next:   "Ask the user to set the headers that it wants in the settings, under mcpServers.",
		}
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return &failure{
			reason: fmt.Sprintf("there is no MCP server at its URL (HTTP status %d)", status),
			next:   "Ask the user to correct the url in the settings, under mcpServers.",
		}
	case status >= http.StatusBadRequest:
		return &failure{reason: fmt.Sprintf("it answers with HTTP status %d", status)}
	}
	return nil
}

// byNetwork explains a network error without its original text, which is meant
// for programmers.
func byNetwork(err error) *failure {
	var dns *net.DNSError
	var version mcp.UnsupportedProtocolVersionError
	switch {
	case errors.Is(err, errRedirect):
		return &failure{
			reason: "it redirects to another address, which is not followed since its headers may hold secrets",
			next:   "Ask the user to put the new address into the settings, under mcpServers.",
		}
	case errors.Is(err, errTooLong):
		return &failure{reason: "it sends more than " + sizeText(maxAnswer)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &failure{reason: "nothing listens at its address"}
	case errors.As(err, &dns):
		return &failure{reason: "its host is not known"}
	case errors.As(err, &version):
		return &failure{reason: fmt.Sprintf("it speaks protocol version %q, which is not known here", line(version.Version))}
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return &failure{reason: "no encrypted connection to it can be made: " + line(lastPart(err.Error()))}
	case isUndecodable(err):
		return &failure{reason: "what it answers is not MCP"}
	}
	return &failure{reason: "the connection to it failed"}
}

// isUndecodable reports whether the library could not decode an answer. The
// library has no error values for that, so the text is searched.
func isUndecodable(err error) bool {
	return !errors.Is(err, io.ErrUnexpectedEOF) && slices.ContainsFunc(
		[]string{"unexpected content type", "unmarshal", "decode", "should contain RPC id"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// lastPart returns the text of the innermost wrapped error.
func lastPart(s string) string { return s[strings.LastIndex(s, ": ")+1:] }

// failed returns the error of a call that was sent but has no result.
func (c *call) failed(err error) error {
	s, x := c.conn.s, c.answer()
	name := line(s.Name)
	switch {
	case errors.Is(err, errSilent):
		return fault.New(fmt.Sprintf("the server %s gave no sign of life for %s and the call was cancelled; whether it took effect is not known", name, s.Timeout),
			"Look before you repeat it, or ask for less at once.")
	case x.rpc != nil && x.status < http.StatusInternalServerError:
		return refusal(name, x.rpc, c.reads)
	case x.tooLong || errors.Is(err, errTooLong):
		return fault.New(fmt.Sprintf("the server %s answered with more than %s", name, sizeText(maxAnswer)), "Ask for less at once.")
	case errors.Is(err, client.ErrMaxInputRoundTripsExceeded):
		return fault.New(fmt.Sprintf("the server %s went on asking questions and the call was given up", name), "Give it all it needs in the arguments.")
	}
	if f := byStatus(x.status); f != nil && x.status < http.StatusInternalServerError {
		next := f.next
		if next == "" {
			next = "Do it another way."
		}
		return fault.New(fmt.Sprintf("the server %s did not take the call: %s", name, f.reason), next)
	} else if f != nil {
		if x.rpc != nil && line(x.rpc.Message) != "" {
			f.reason += ": " + line(x.rpc.Message)
		}
		return uncertainFault(fmt.Sprintf("the server %s failed in the call: %s", name, f.reason))
	}
	if errors.Is(err, errRedirect) {
		f := byNetwork(err)
		return fault.New(fmt.Sprintf("the server %s did not take the call: %s", name, f.reason), f.next)
	}
	if x.err == nil || x.status == http.StatusOK && isUndecodable(err) {
		return s.protocolFault("call")
	}
	if c.conn.peer != nil {
		if c.conn.isTooLong() {
			return uncertainFault(fmt.Sprintf("the connection to the server %s was closed while the call ran: %s", name, c.conn.lostError().reason))
		}
		how := ""
		if c.conn.isLost() {
			how = ": " + c.conn.lostError().reason
		}
		return uncertainFault(fmt.Sprintf("the server %s ended while the call ran%s", name, how))
	}
	return uncertainFault(fmt.Sprintf("the connection to the server %s was lost while the call ran", name))
}

// uncertainFault returns the error of a call that may have taken effect.
func uncertainFault(fact string) error {
	return fault.New(fact+"; whether it took effect is not known", "Look before you repeat it.")
}

// refusal returns the error for an error answer of the server.
func refusal(name string, e *mcp.JSONRPCErrorDetails, reads bool) error {
	fact := fmt.Sprintf("the server %s answered with an error: %s", name, line(e.Message))
	if line(e.Message) == "" {
		fact = fmt.Sprintf("the server %s answered with error %d and no words", name, e.Code)
	}
	switch {
	case reads:
		return fault.New(fact, "List its resources to see which there are.")
	case e.Code == mcp.INVALID_PARAMS:
		return fault.New(fact, "Correct the arguments by the tool's input schema.")
	case e.Code == mcp.METHOD_NOT_FOUND:
		return fault.New(fact, "It cannot do this; do it another way.")
	}
	return fault.New(fact, "Correct what it names, or do it another way.")
}

// notRun reports whether an error proves that the server did not take the
// request, for a reason that a new connection may remove.
func notRun(x *answer, err error) bool {
	var dial *net.OpError
	switch {
	case errors.Is(err, transport.ErrSessionTerminated), errors.Is(err, errNotSent):
		return true
	case errors.As(err, &dial) && dial.Op == "dial":
		return true
	}
	// Servers made with the TypeScript SDK answer like this to an unknown
	// session.
	return x.status == http.StatusBadRequest && x.rpc != nil && strings.Contains(strings.ToLower(x.rpc.Message), "session")
}

// sizeText formats a size in whole MiB.
func sizeText(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
