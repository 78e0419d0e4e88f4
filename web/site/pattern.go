package site

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// prefix begins the patterns of rules on hosts.
const prefix = "domain:"

// Pattern is the pattern of a rule on hosts, as in WebFetch(domain:example.com). It covers
// one of these:
//
//   - example.com: that host only
//   - *.example.com: the hosts below it, at any depth, but not example.com itself
//   - *: every host
//   - 10.1.2.3 or [::1]: that address
//   - 10.0.0.0/8: the addresses of the range
//
// A port may follow, as in localhost:3000 or *.example.com:8443. Without one, the pattern
// covers every port. Labels are compared as a whole.
type Pattern struct {
	name  string // host, or the text after the "*"; "" in a pattern of addresses
	below bool   // whether the pattern covers the hosts that end in name
	addrs netip.Prefix
	port  uint16 // 0: every port
}

// ParsePattern parses the pattern of a rule. The error is a clause.
func ParsePattern(text string) (Pattern, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return Pattern{}, errors.New("the pattern must begin with " + prefix + ", as in domain:example.com")
	}
	if addrs, err := netip.ParsePrefix(rest); err == nil {
		if addrs.Addr().Is4In6() {
			return Pattern{}, errors.New("the range is an IPv4 one in IPv6 form")
		}
		return Pattern{addrs: addrs.Masked()}, nil
	}
	if strings.ContainsAny(rest, "/?#@") {
		return Pattern{}, errors.New("a domain has no scheme, user or path")
	}
	if addr, err := netip.ParseAddr(rest); err == nil { // IPv6 without brackets and a port
		return exactly(addr, 0)
	}
	host, port, err := splitPort(rest)
	if err != nil {
		return Pattern{}, err
	}
	if bare, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(bare, "]")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return exactly(addr, port)
	}
	p := Pattern{port: port}
	if host == "*" {
		p.below = true
		return p, nil
	}
	host, p.below = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return Pattern{}, errors.New(`"*" can stand only for the first labels, as in *.example.com`)
	}
	if host, err = ParseHost(host); err != nil {
		return Pattern{}, errors.New("it names no host")
	}
	if p.name = host; p.below {
		p.name = "." + host
	}
	return p, nil
}

func exactly(addr netip.Addr, port uint16) (Pattern, error) {
	if addr.Zone() != "" {
		return Pattern{}, errors.New("the address has a zone")
	}
	addr = addr.Unmap()
	return Pattern{addrs: netip.PrefixFrom(addr, addr.BitLen()), port: port}, nil
}

// splitPort splits the port off. It returns 0 if there is none.
func splitPort(text string) (host string, port uint16, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") {
		return text, 0, nil
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("the port is not a number from 1 to 65535")
	}
	return text[:i], uint16(n), nil
}

// Covers reports whether the pattern covers a site.
func (p Pattern) Covers(s Site) bool {
	if addr, ok := s.Addr(); ok {
		return p.CoversAddr(addr, s.Port) || p.everything() && p.onPort(s.Port)
	}
	return p.onPort(s.Port) && !p.addrs.IsValid() && (s.Host == p.name || p.below && strings.HasSuffix(s.Host, p.name))
}

// CoversAddr reports whether the pattern names an address.
func (p Pattern) CoversAddr(addr netip.Addr, port uint16) bool {
	return p.onPort(port) && p.addrs.IsValid() && p.addrs.Contains(addr.Unmap().WithZone(""))
}

// everything reports whether the pattern is "*".
func (p Pattern) everything() bool { return p.below && p.name == "" }

func (p Pattern) onPort(port uint16) bool { return p.port == 0 || p.port == port }

// Port returns the port that the pattern names; 0: none.
func (p Pattern) Port() uint16 { return p.port }

// Opens reports whether a rule with the pattern that allows the site also lets it have an
// address that is not public. A pattern that names the address does, but a range names no
// reserved address. One that names a site of a local network does for the addresses of
// that network and of this machine; one on a public name does not, because whoever
// controls its DNS records chooses the address.
func (p Pattern) Opens(s Site, addr netip.Addr) bool {
	class := ClassOf(addr)
	if p.CoversAddr(addr, s.Port) {
		return class != Reserved || p.addrs.IsSingleIP()
	}
	return class != Reserved && !p.everything() && s.Class() != Public && p.Covers(s)
}

// Names reports whether a rule with the pattern names a site that is not public: the
// pattern "*" covers it without naming it.
func (p Pattern) Names(s Site) bool {
	if addr, ok := s.Addr(); ok {
		return p.Opens(s, addr)
	}
	return !p.everything() && p.Covers(s)
}

// Exactly reports whether the pattern covers the site by its whole name.
func (p Pattern) Exactly(s Site) bool { return !p.below && p.Covers(s) }
