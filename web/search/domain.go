package search

import (
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// Domain is a domain with its subdomains, or only the subdomains.
type Domain struct {
	name  string // normal form, as in site.Site.Host
	below bool   // whether the domain itself is left out, as in *.example.com
}

// String returns the domain as ParseDomain takes it.
func (d Domain) String() string {
	if d.below {
		return "*." + d.name
	}
	return d.name
}

// Covers reports whether a host in normal form is in the domain.
func (d Domain) Covers(host string) bool {
	return host == d.name && !d.below || strings.HasSuffix(host, "."+d.name)
}

// ParseDomain parses a domain: example.com is the domain with its subdomains, *.example.com
// only the subdomains. The error is a *fault.Fault.
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
	name, err := site.ParseHost(name)
	if err != nil {
		return invalid("is not a domain")
	}
	return Domain{name, below}, nil
}
