package site

import (
	"net/netip"
	"slices"
	"strings"

	"code.dny.dev/ssrf"
)

// Class is the kind of network that an address belongs to.
type Class uint8

// The classes of addresses.
const (
	Public   Class = iota // on the internet
	Private               // in a local network
	Loopback              // on this machine
	Reserved              // of a metadata service, link-local, multicast, or of no network at all
)

func (c Class) String() string {
	return [...]string{"public", "private", "on this machine", "link-local or reserved"}[c]
}

// azure is the address of the metadata service of Azure, which looks public.
var azure = netip.MustParsePrefix("168.63.129.16/32")

// guardian reports the addresses that are not public. Its tables are the registries of
// special addresses of IANA.
var guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azure))

// reserved lists addresses of metadata services of clouds. They lie in ranges of private or
// shared addresses.
var reserved = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// carrier is the range that providers share among their customers.
var carrier = netip.MustParsePrefix("100.64.0.0/10")

// ClassOf returns the class of an address. A form that embeds an IPv4 address, such as
// NAT64, is reserved, except that an IPv4-mapped address has the class of its IPv4 address.
func ClassOf(addr netip.Addr) Class {
	addr = addr.Unmap().WithZone("")
	network := "tcp4"
	if addr.Is6() {
		network = "tcp6"
	}
	switch {
	case guardian.Safe(network, netip.AddrPortFrom(addr, 443).String(), nil) == nil:
		return Public
	case slices.Contains(reserved, addr):
		return Reserved
	case addr.IsLoopback():
		return Loopback
	case addr.IsPrivate(), addr.Is4() && carrier.Contains(addr):
		return Private
	}
	return Reserved
}

// Mirrors reports whether a mirror of a well-known host may have an address: a public or
// private one, or one of the IPv4 ranges for documentation, which closed networks use.
// Companies answer for such hosts with addresses of their own.
func Mirrors(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	class := ClassOf(addr)
	return class == Public || class == Private || slices.ContainsFunc(documentation, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// documentation lists the IPv4 ranges of RFC 5737.
var documentation = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24")}

// Class returns the class of the site. That of a name is Public, unless the name cannot be
// public: a single label, or one below a domain that is reserved for local names.
func (s Site) Class() Class {
	if addr, ok := s.Addr(); ok {
		return ClassOf(addr)
	}
	labels := strings.Split(s.Host, ".")
	last := labels[len(labels)-1]
	switch {
	case last == "localhost" || last == "localdomain":
		return Loopback
	case len(labels) == 1, slices.Contains(localDomains, last), strings.HasSuffix(s.Host, ".home.arpa"):
		return Private
	}
	return Public
}

// localDomains lists top-level domains that the internet does not have. Sources: RFC 6761,
// RFC 6762, RFC 7686, RFC 9476, ICANN's resolution on .internal of 2024, and the names that
// routers and companies use for their networks.
var localDomains = []string{"alt", "corp", "home", "internal", "intranet", "invalid", "lan", "local", "onion", "private", "test"}

// loopback reports whether the site is on this machine by its name or address.
func (s Site) loopback() bool { return s.Class() == Loopback }

// WebPort reports whether the port is one that web servers commonly use. On this machine
// every port is.
func (s Site) WebPort() bool { return s.loopback() || slices.Contains(webPorts, s.Port) }
