// Package site defines the hosts and ports that web pages come from: how they are read from
// a URL, which of their addresses are public, and the patterns of rules that name them.
//
// A URL is refused unless every reader of it would find the same host. So a name that some
// resolvers read as a number, such as 127.1 or 0x7f.1, is no host here.
package site

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// maxURL is the limit of a URL, in bytes.
const maxURL = 8192

// Site is a host and a port.
type Site struct {
	Host string // name in lower case and in ASCII, without a dot at the end, or an address without brackets
	Port uint16
}

// completeURL is the next step for a text that is no URL of a page.
const completeURL = "Give a complete URL such as https://example.com/page."

// webPorts lists the ports that need no rule of their own.
var webPorts = []uint16{80, 443, 8080, 8443}

// defaultPorts holds the ports that URLs do not need to write.
var defaultPorts = map[string]uint16{"http": 80, "https": 443}

// String returns the site as a rule names it: without the port of HTTPS.
func (s Site) String() string { return s.text("https") }

// text returns the site as a URL with a scheme writes it.
func (s Site) text(scheme string) string {
	host := s.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.Port == defaultPorts[scheme] {
		return host
	}
	return host + ":" + strconv.Itoa(int(s.Port))
}

// Addr returns the address of a site whose host is one.
func (s Site) Addr() (addr netip.Addr, ok bool) {
	addr, err := netip.ParseAddr(s.Host)
	return addr, err == nil
}

// Parse parses the URL of a web page. It returns the URL with the normal form of its host,
// and with https in place of http unless the host is a loopback one. The error is a
// *fault.Fault.
func Parse(raw string) (*url.URL, Site, error) {
	refuse := func(fact string) (*url.URL, Site, error) {
		return nil, Site{}, fault.New(fact, completeURL)
	}
	if len(raw) > maxURL {
		return refuse("the URL is longer than " + strconv.Itoa(maxURL) + " bytes")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return refuse("the URL contains a blank, a backslash or a control character")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return refuse(plain.Quote(raw) + " is not a URL")
	}
	s, err := Of(u)
	if err != nil {
		return nil, Site{}, err
	}
	if u.Scheme == "http" && !s.loopback() {
		u.Scheme = "https"
		if s.Port == defaultPorts["http"] {
			s.Port = defaultPorts["https"]
		}
		u.Host = s.text(u.Scheme)
	}
	return u, s, nil
}

// Of returns the site of an http or https URL. It gives the host of u its normal form, and
// escapes its query, so that u in text form is in ASCII. The error is a *fault.Fault.
func Of(u *url.URL) (Site, error) {
	refuse := func(fact string) (Site, error) { return Site{}, fault.New(fact, completeURL) }
	port, known := defaultPorts[u.Scheme]
	switch {
	case !known:
		return refuse(plain.Quote(u.Redacted()) + " is not an http or https URL")
	case u.Opaque != "" || u.Host == "":
		return refuse("the URL names no host")
	case u.User != nil:
		return Site{}, fault.New("the URL contains a user name or a password", "Leave it out: nothing is fetched with credentials.")
	}
	if text := u.Port(); text != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return refuse(plain.Quote(u.Host) + " has no valid port")
		}
		port = uint16(n)
	}
	host, err := ParseHost(u.Hostname())
	if err != nil {
		return refuse(plain.Quote(u.Hostname()) + " is not a host name or an address")
	}
	s := Site{host, port}
	u.Host = s.text(u.Scheme)
	u.RawQuery = escaped(u.RawQuery)
	return s, nil
}

// escaped escapes the bytes of a query that browsers escape, and "`". net/url escapes the
// other parts of a URL. Otherwise a URL could hold hidden characters, blanks of Unicode, and
// marks of HTML and Markdown.
func escaped(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c > '~' || strings.IndexByte("\"<>`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// profile converts names to ASCII as browsers do: "_" and "--" may be anywhere in a label.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
	idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(true))

// nameBytes lists the bytes of names in normal form.
const nameBytes = "abcdefghijklmnopqrstuvwxyz0123456789-_."

// ParseHost returns the normal form of a host, as in Site.Host. It returns an error if the
// text is neither a name nor an address.
func ParseHost(text string) (string, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return "", strconv.ErrSyntax
		}
		return addr.Unmap().String(), nil
	}
	name, err := profile.ToASCII(strings.TrimSuffix(text, "."))
	if err != nil || strings.Trim(name, nameBytes) != "" {
		return "", strconv.ErrSyntax
	}
	// A text that is not UTF-8, for one, has a form that is not normal itself.
	if again, err := profile.ToASCII(name); err != nil || again != name {
		return "", strconv.ErrSyntax
	}
	// The last label of a name is neither empty nor a number. The URL standard, and resolvers
	// of systems, read a host that ends in a number as an address.
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) {
		return "", strconv.ErrSyntax
	}
	return name, nil
}

// isNumber reports whether a label is a number in decimal, octal or hexadecimal form, or has
// no digits.
func isNumber(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, digits+"abcdef"
	}
	return strings.Trim(label, digits) == ""
}
