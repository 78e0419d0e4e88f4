package search

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// Domain is a domain with its subdomains, or only the subdomains.
type Domain struct {
	name  string // in lower case and ASCII, without a dot at the end
	below bool   // whether the domain itself is left out, as in *.example.com
}

// String returns the domain as ParseDomain takes it.
func (d Domain) String() string {
	if d.below {
		return "*." + d.name
	}
	return d.name
}

// Covers reports whether a host, as hostName returns it, is in the domain.
func (d Domain) Covers(host string) bool {
	return host == d.name && !d.below || strings.HasSuffix(host, "."+d.name)
}

// ParseDomain parses a domain: example.com is the domain and all below it, *.example.com only
// what is below it. Its error is a *fault.Fault.
func ParseDomain(text string) (Domain, error) {
	invalid := func(fact string) (Domain, error) {
		return Domain{}, fault.New(plain.Quote(text)+" "+fact, "Give a domain such as example.com or *.example.com.")
	}
	name, below := strings.CutPrefix(text, "*.")
	switch {
	case strings.Contains(name, "://"):
		return invalid("is a URL and not a domain")
	case strings.Contains(name, "/"):
		return invalid("has a path; domains have none")
	case strings.Contains(name, "@"):
		return invalid("has a user; domains have none")
	case strings.Contains(name, ":"):
		return invalid("has a port; searches cover all ports of a domain")
	case strings.Contains(name, "*"):
		return invalid("has a * that is not the first label")
	}
	name, ok := hostName(name)
	if !ok {
		return invalid("is not a domain")
	}
	return Domain{name, below}, nil
}

// hostName returns a host in the form in which hosts are compared: lower case, ASCII, without a
// dot at the end.
func hostName(host string) (string, bool) {
	host = strings.TrimSuffix(host, ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String(), true
	}
	name, err := hosts.ToASCII(host)
	name = strings.ToLower(name)
	return name, err == nil && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// hosts converts names of hosts as browsers do, which accept "_".
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(true))
