package fetch

import (
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// maxRetry is the longest wait that a server can ask for, in seconds.
const maxRetry = 24 * 60 * 60

// fault returns the error of a fetch for the model.
func (r *request) fault(err error) error {
	if refusal := r.refused(); refusal != nil {
		return refusal
	}
	var (
		already     *fault.Fault
		dns         *net.DNSError
		unknown     x509.UnknownAuthorityError
		misnamed    x509.HostnameError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		corrupt     flate.CorruptInputError
		op          *net.OpError
	)
	again := "Try again later, or fetch another page."
	is := func(target any) bool { return errors.As(err, target) }
	switch s := r.Site.String(); {
	case is(&already):
		return already
	case is(&dns):
		if dns.IsNotFound {
			return fault.New("there is no host "+plain.Quote(r.Site.Host), "Check the spelling of the URL.")
		}
		return fault.New("the name server does not answer for "+plain.Quote(r.Site.Host), again)
	case is(&unknown):
		return fault.New("the certificate of "+s+" is not signed by an authority that this machine trusts", "Fetch another page, or ask the user.")
	case is(&misnamed): // the names in it are the server's words
		return fault.New("the certificate of "+s+" is for other hosts", "Fetch another page, or ask the user.")
	case is(&certificate):
		return fault.New("the certificate of "+s+" is not valid: "+plain.Cut(plain.Line(certificate.Err.Error()), 200), "Fetch another page, or ask the user.")
	case is(&record):
		return fault.New(s+" does not use TLS on this port, and pages are only fetched with https", "Fetch another page, or leave out the port.")
	case is(&alert):
		return fault.New("the TLS handshake with "+s+" failed: "+plain.Line(alert.Error()), again)
	case is(&op) && op.Op == "proxyconnect":
		return fault.New("the proxy for "+s+" does not answer", "Ask the user to check HTTPS_PROXY and HTTP_PROXY.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.New("nothing answers at "+s+": connection refused", "Check the host and the port.")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), is(&corrupt):
		return fault.New(s+" sent data that cannot be decompressed", again)
	case errors.Is(err, os.ErrDeadlineExceeded) || is(&op) && op.Timeout():
		return fault.New(s+" does not answer", again)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return fault.New(fmt.Sprintf("%s sent more than %d KiB of headers", s, maxHeaders>>10), "Fetch another page.")
	case errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), strings.HasSuffix(err.Error(), "EOF"):
		return fault.New(s+" closed the connection before the page was complete", again)
	case strings.Contains(err.Error(), "transport connection broken"), strings.Contains(err.Error(), "malformed HTTP"):
		return fault.New(s+" sent a response that is not valid HTTP", again) // net/http quotes it
	}
	return fault.New("the page could not be fetched: "+plain.Cut(plain.Line(err.Error()), 300), again)
}

func tooLarge(u *url.URL) error {
	return fault.New(fmt.Sprintf("%s is larger than %d MiB", shown(u), MaxBody>>20), "Fetch a smaller page.")
}

// statusFault returns the error for a status that is none of success.
func statusFault(u *url.URL, resp *http.Response) error {
	status := strconv.Itoa(resp.StatusCode)
	if text := http.StatusText(resp.StatusCode); text != "" {
		status += " " + text
	}
	next := "Fetch another page."
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		next = "Check the URL, or look for the page from " + u.Scheme + "://" + u.Host + "/."
	case code == http.StatusUnauthorized || code == http.StatusPaymentRequired || code == http.StatusForbidden:
		next = "The page needs a login, or the site refuses programs; fetch another page."
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		next = "Try again later."
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s <= maxRetry {
			next = fmt.Sprintf("Try again in %d seconds.", s)
		}
	case code >= 500:
		next = "Try again later, or fetch another page."
	}
	return fault.New(shown(u)+" answers "+status, next)
}

// shown returns a URL that is safe to show.
func shown(u *url.URL) string { return plain.Cut(plain.Line(u.String()), 300) }
