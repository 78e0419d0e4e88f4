package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// Rules on the hosts that calls reach. They are written as rules on one tool.

// SiteTool is the tool whose rules have patterns of hosts.
const SiteTool = "WebFetch"

// siteRule returns the text of a rule on a host or an address.
func siteRule(host string) string { return plain.Quote(SiteTool + "(domain:" + host + ")") }

// anySite reports whether a list has a rule on sites that f accepts.
func (l *list) anySite(f func(site.Pattern) bool) bool {
	return slices.ContainsFunc(l.own[SiteTool], func(r *rule) bool { return r.site != nil && f(*r.site) })
}

// Connections returns the policy on the connections that commands make. It has two
// differences from p: a rule on the whole tool WebFetch is about that tool only, and the hosts
// of Config.Hosts need no rule. The mode plan does not apply, since it has been applied to the
// command.
func (p *Policy) Connections() *Policy {
	q := *p
	q.connections, q.planned = true, false
	if q.mode == ModePlan {
		q.mode = ModeDefault
	}
	return &q
}

// usual reports whether the policy is on connections and a host of Config.Hosts meets f.
func (p *Policy) usual(f func(site.Pattern) bool) bool {
	return p.connections && slices.ContainsFunc(p.hosts, f)
}

// named reports whether an allow rule, an ask rule on the site, or a host that needs no rule
// meets f.
func (p *Policy) named(s site.Site, f func(site.Pattern) bool) bool {
	return p.lists[Allow].anySite(f) || p.lists[Ask].anySite(func(q site.Pattern) bool { return q.Covers(s) && f(q) }) || p.usual(f)
}

// forbiddenSite denies a site that is not public, and a port that web servers do not use,
// unless a rule names it.
func (c *call) forbiddenSite() (Decision, bool) {
	s := *c.r.Site
	if c.r.Served {
		return Decision{}, false
	}
	if class := s.Class(); class != site.Public && !c.p.named(s, func(q site.Pattern) bool { return q.Names(s) }) {
		return Decision{
			Layer: LayerSite, Reason: plain.Quote(s.Host) + " is " + where(s, class),
			Next: "use a public address, or ask the user to add an allow rule such as " + siteRule(s.String()) + " to " + c.file(),
		}, true
	}
	if !s.WebPort() && !c.p.named(s, func(q site.Pattern) bool { return q.Port() == s.Port && q.Covers(s) }) {
		return Decision{
			Layer: LayerSite, Reason: fmt.Sprintf("port %d of %s is none that web servers commonly use", s.Port, plain.Quote(s.Host)),
			Next: "use another address, or ask the user to add an allow rule such as " + siteRule(s.String()) + " to " + c.file(),
		}, true
	}
	return Decision{}, false
}

// where describes the class of a site that is not public.
func where(s site.Site, class site.Class) string {
	if _, ok := s.Addr(); !ok && class == site.Private {
		return "a name of a local network"
	}
	return class.String()
}

// siteConcern returns the question about a site that no rule covers, or nil if it needs none.
func (c *call) siteConcern() *Decision {
	if c.r.Served || c.p.usual(func(q site.Pattern) bool { return q.Covers(*c.r.Site) }) {
		return nil
	}
	return &Decision{
		Layer: LayerSite, Reason: "no rule names the host " + plain.Quote(c.r.Site.String()),
		Next: "use another source, or ask the user to add an allow rule such as " + siteRule(c.r.Site.String()) + " to " + c.file(),
	}
}

// CheckAddr decides on the address of a site, directly before a connection to it. The call
// itself has been allowed by Decide. The address is invalid if it cannot be resolved here. A
// deny or ask rule on the address refuses it, as does an address that is not public and that
// no rule names.
func (p *Policy) CheckAddr(s site.Site, addr netip.Addr) Decision {
	c := call{p: p}
	for b := Deny; b <= Ask; b++ {
		for _, r := range p.lists[b].own[SiteTool] {
			if r.site != nil && r.site.CoversAddr(addr, s.Port) && !r.site.Covers(s) {
				return c.byRule(b, match{rule: r})
			}
		}
	}
	if !addr.IsValid() {
		return c.unresolvedSite(s)
	}
	class := site.ClassOf(addr)
	mirrored := p.usual(func(q site.Pattern) bool { return q.Exactly(s) }) && site.Mirrors(addr)
	if class == site.Public || mirrored || p.named(s, func(q site.Pattern) bool { return q.Opens(s, addr) }) {
		return Decision{Behavior: Allow, Layer: LayerSite, Reason: "the address is public, or a rule names it"}
	}
	return Decision{
		Layer: LayerSite, Reason: fmt.Sprintf("%s has the address %s, which is %s", plain.Quote(s.Host), addr, class),
		Next: "use a public address, or ask the user to add an allow rule such as " + siteRule(site.Site{Host: addr.Unmap().String(), Port: s.Port}.String()) + " to " + c.file(),
	}
}

// unresolvedSite decides on a site whose address a proxy chooses. Only a rule that names the
// host allows that.
func (c *call) unresolvedSite(s site.Site) Decision {
	if c.p.named(s, func(q site.Pattern) bool { return q.Exactly(s) }) {
		return Decision{Behavior: Allow, Layer: LayerSite, Reason: "a rule names the host"}
	}
	return Decision{
		Layer: LayerSite, Reason: plain.Quote(s.Host) + " cannot be resolved here, so that a proxy would choose its address",
		Next: "use another source, or ask the user to add an allow rule such as " + siteRule(s.String()) + " to " + c.file(),
	}
}
