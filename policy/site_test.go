package policy

import (
	"net/netip"
	"testing"

	"mcp-toolset/web/site"
)

// fetchOf returns a call of WebFetch.
func fetchOf(t *testing.T, url string) Request {
	t.Helper()
	_, s, err := site.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Tool: "WebFetch", Dir: "/ws", Site: &s, ReadOnly: true}
}

// TestSites checks the decisions on sites, with their texts.
func TestSites(t *testing.T) {
	const add = " to /cfg/settings.json"
	unnamed := func(host string) string {
		return "no rule names the host " + host + ". use another source, or ask the user to add an allow rule such as WebFetch(domain:" + host + ")" + add
	}
	local := func(host, class, rule string) string {
		return host + " is " + class + ". use a public address, or ask the user to add an allow rule such as WebFetch(domain:" + rule + ")" + add
	}
	place := "the rule in /cfg/settings.json:1"
	for _, c := range []struct {
		name  string
		rules []entry
		mode  Mode
		url   string
		want  Behavior
		text  string // reason and next step; "": any
	}{
		{"no rule", nil, ModeDefault, "https://go.dev", Ask, unnamed("go.dev")},
		{"plan", nil, ModePlan, "https://go.dev", Ask, ""},
		{"acceptEdits", nil, ModeAcceptEdits, "https://go.dev", Ask, ""},
		{"manual", nil, ModeManual, "https://go.dev", Ask, ""},
		{"dontAsk", nil, ModeDontAsk, "https://go.dev", Deny, ""},
		{"bypass", nil, ModeBypass, "https://go.dev", Allow, ""},
		{"named", []entry{{"allow", "WebFetch(domain:go.dev)"}}, ModeDontAsk, "https://go.dev", Allow, "an allow rule covers the call. "},
		{"below", []entry{{"allow", "WebFetch(domain:go.dev)"}}, ModeDefault, "https://pkg.go.dev", Ask, ""},
		{"whole tool", []entry{{"allow", "WebFetch"}}, ModeDefault, "https://go.dev", Allow, ""},
		{"denied", []entry{{"deny", "WebFetch(domain:*.go.dev)"}, {"allow", "WebFetch"}}, ModeBypass, "https://pkg.go.dev", Deny,
			"the deny rule WebFetch(domain:*.go.dev) covers this call. do it another way, or ask the user to change " + place},
		{"asked", []entry{{"ask", "WebFetch(domain:go.dev)"}, {"allow", "WebFetch"}}, ModeDefault, "https://go.dev", Ask, "the ask rule WebFetch(domain:go.dev) covers this call. the user can change " + place},
		{"loopback", nil, ModeBypass, "http://localhost:3000", Deny, local("localhost", "on this machine", "localhost:3000")},
		{"loopback by the whole tool", []entry{{"allow", "WebFetch"}}, ModeDefault, "http://127.0.0.1:3000", Deny, local("127.0.0.1", "on this machine", "127.0.0.1:3000")},
		{"loopback by a star", []entry{{"allow", "WebFetch(domain:*)"}}, ModeDefault, "http://[::1]:3000", Deny, local("::1", "on this machine", "[::1]:3000")},
		{"loopback named", []entry{{"allow", "WebFetch(domain:localhost:3000)"}}, ModeDefault, "http://localhost:3000", Allow, ""},
		{"loopback named in an ask rule", []entry{{"ask", "WebFetch(domain:localhost)"}}, ModeDefault, "http://localhost:3000", Ask, ""},
		{"another port", []entry{{"allow", "WebFetch(domain:localhost:3000)"}}, ModeDefault, "http://localhost:6379", Deny, ""},
		{"a local name", nil, ModeDefault, "https://nas.local", Deny, local("nas.local", "a name of a local network", "nas.local")},
		{"private", nil, ModeDefault, "https://10.0.0.1", Deny, local("10.0.0.1", "private", "10.0.0.1")},
		{"private in a range", []entry{{"allow", "WebFetch(domain:10.0.0.0/8)"}}, ModeDefault, "https://10.0.0.1", Allow, ""},
		{"metadata", []entry{{"allow", "WebFetch(domain:0.0.0.0/0)"}}, ModeDefault, "https://169.254.169.254", Deny, local("169.254.169.254", "link-local or reserved", "169.254.169.254")},
		{"a port", []entry{{"allow", "WebFetch(domain:go.dev)"}}, ModeBypass, "https://go.dev:22", Deny,
			"port 22 of go.dev is none that web servers commonly use. use another address, or ask the user to add an allow rule such as WebFetch(domain:go.dev:22)" + add},
		{"a port that is named", []entry{{"allow", "WebFetch(domain:go.dev:9000)"}}, ModeDefault, "https://go.dev:9000", Allow, ""},
		{"malformed deny", []entry{{"deny", "WebFetch(go.dev)"}, {"allow", "WebFetch"}}, ModeDefault, "https://example.com", Deny,
			"the deny rule WebFetch(go.dev) is malformed (the pattern must begin with domain:, as in domain:example.com), so it covers every WebFetch call. ask the user to correct " + place},
		{"malformed allow", []entry{{"allow", "WebFetch(domain:go.*.dev)"}}, ModeDefault, "https://go.x.dev", Ask, ""},
	} {
		config := world(ruleset(c.rules...))
		config.Mode = c.mode
		d := New(config).Decide(fetchOf(t, c.url))
		if d.Behavior != c.want || c.text != "" && d.Reason+". "+d.Next != c.text {
			t.Errorf("%s: %v, %s. %s\nnot %v, %s", c.name, d.Behavior, d.Reason, d.Next, c.want, c.text)
		}
		if d.Layer == LayerSite && d.Behavior == Ask && !d.Open {
			t.Errorf("%s: a classifier cannot decide it", c.name)
		}
	}
}

// TestServed checks that a site that the session serves needs no rule, and that deny and ask rules
// hold for it.
func TestServed(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []entry
		mode  Mode
		url   string
		want  Behavior
	}{
		{"no rule", nil, ModeDefault, "http://localhost:5173", Allow},
		{"an address", nil, ModeDontAsk, "http://[::1]:22", Allow},
		{"plan", nil, ModePlan, "http://127.0.0.1:5173", Allow},
		{"denied", []entry{{"deny", "WebFetch(domain:localhost)"}}, ModeBypass, "http://localhost:5173", Deny},
		{"asked", []entry{{"ask", "WebFetch(domain:localhost:5173)"}}, ModeDefault, "http://localhost:5173", Ask},
	} {
		config := world(ruleset(c.rules...))
		config.Mode = c.mode
		r := fetchOf(t, c.url)
		r.Served, r.ReadOnly = true, true
		if d := New(config).Decide(r); d.Behavior != c.want {
			t.Errorf("%s: %v, %s", c.name, d.Behavior, d.Reason)
		}
	}
}

// TestConnections checks the decisions on connections of commands, where they differ from those on WebFetch.
func TestConnections(t *testing.T) {
	var hosts []site.Pattern
	for _, text := range []string{"domain:proxy.golang.org", "domain:10.0.0.7:8081", "domain:npm.corp"} {
		p, err := site.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, p)
	}
	const usual = "package managers use this host, or your configuration names it, and no rule covers it"
	for _, c := range []struct {
		name  string
		rules []entry
		mode  Mode
		url   string
		want  Behavior
		text  string // reason; "": any
	}{
		{"a registry", nil, ModeDefault, "https://proxy.golang.org", Allow, usual},
		{"a registry, not below it", nil, ModeDefault, "https://x.proxy.golang.org", Ask, ""},
		{"a registry on port 22", nil, ModeDefault, "https://proxy.golang.org:22", Deny, ""},
		{"a registry that asks", []entry{{"ask", "WebFetch(domain:*.golang.org)"}}, ModeBypass, "https://proxy.golang.org", Ask, ""},
		{"a registry that is denied", []entry{{"deny", "WebFetch(domain:*)"}}, ModeBypass, "https://proxy.golang.org", Deny, ""},
		{"a private registry of the configuration", nil, ModeDontAsk, "https://10.0.0.7:8081", Allow, usual},
		{"its other ports", nil, ModeDefault, "https://10.0.0.7", Deny, ""},
		{"a local name of the configuration", nil, ModeDefault, "https://npm.corp", Allow, usual},
		{"another host", nil, ModeDefault, "https://go.dev", Ask, "no rule names the host go.dev"},
		{"another host, dontAsk", nil, ModeDontAsk, "https://go.dev", Deny, ""},
		{"another host, bypass", nil, ModeBypass, "https://go.dev", Allow, ""},
		{"another host, plan", nil, ModePlan, "https://go.dev", Ask, ""},
		{"manual", nil, ModeManual, "https://proxy.golang.org", Allow, usual},
		{"a rule", []entry{{"allow", "WebFetch(domain:go.dev)"}}, ModeDefault, "https://go.dev", Allow, "an allow rule covers the call"},
		{"the whole tool allowed", []entry{{"allow", "WebFetch"}}, ModeDefault, "https://go.dev", Ask, ""},
		{"the whole tool denied", []entry{{"deny", "WebFetch"}}, ModeDefault, "https://proxy.golang.org", Allow, ""},
		{"a malformed deny rule", []entry{{"deny", "WebFetch(go.dev)"}}, ModeDefault, "https://proxy.golang.org", Deny, ""},
		{"this machine", nil, ModeBypass, "http://localhost:3000", Deny, ""},
	} {
		config := world(ruleset(c.rules...))
		config.Mode, config.Hosts = c.mode, hosts
		r := fetchOf(t, c.url)
		r.Tool, r.As = "Network", "WebFetch"
		p := New(config)
		d := p.Connections().Decide(r)
		if d.Behavior != c.want || c.text != "" && d.Reason != c.text {
			t.Errorf("%s: %v, %s. %s", c.name, d.Behavior, d.Reason, d.Next)
		}
		if d := p.Decide(fetchOf(t, c.url)); c.text == usual && d.Behavior == Allow {
			t.Errorf("%s: WebFetch is allowed", c.name)
		}
	}
	private := site.Site{Host: "npm.corp", Port: 443}
	config := world(ruleset())
	config.Hosts = hosts
	if d := New(config).Connections().CheckAddr(private, netip.MustParseAddr("10.1.1.1")); d.Behavior != Allow {
		t.Errorf("the address of a registry of the configuration: %+v", d)
	}
	for addr, want := range map[string]Behavior{"10.0.0.9": Allow, "203.0.113.8": Allow, "fd00::9": Allow, "127.0.0.1": Deny, "::1": Deny, "169.254.169.254": Deny, "fe80::1": Deny, "168.63.129.16": Deny, "fd00:ec2::254": Deny, "0.0.0.0": Deny, "224.0.0.1": Deny} {
		known := site.Site{Host: "proxy.golang.org", Port: 443}
		if d := New(config).Connections().CheckAddr(known, netip.MustParseAddr(addr)); d.Behavior != want {
			t.Errorf("a mirror at %s: %+v", addr, d)
		}
	}
	if d := New(config).CheckAddr(private, netip.MustParseAddr("10.1.1.1")); d.Behavior != Deny {
		t.Errorf("the same address, for WebFetch: %+v", d)
	}
}

// TestCheckAddr checks the decisions on addresses of sites that are allowed.
func TestCheckAddr(t *testing.T) {
	const add = " to /cfg/settings.json"
	for _, c := range []struct {
		name, url, addr string
		rules           []entry
		want            string // "" for an address that is allowed
	}{
		{"public", "https://go.dev", "93.184.216.34", nil, ""},
		{"loopback", "https://go.dev", "127.0.0.1", []entry{{"allow", "WebFetch(domain:go.dev)"}},
			"go.dev has the address 127.0.0.1, which is on this machine. use a public address, or ask the user to add an allow rule such as WebFetch(domain:127.0.0.1)" + add},
		{"named", "https://wiki.example.com", "10.0.0.1", []entry{{"allow", "WebFetch(domain:10.0.0.0/8)"}}, ""},
		{"denied", "https://go.dev", "93.184.216.34", []entry{{"deny", "WebFetch(domain:93.184.216.0/24)"}},
			"the deny rule WebFetch(domain:93.184.216.0/24) covers this call. do it another way, or ask the user to change the rule in /cfg/settings.json:1"},
		{"asked", "https://go.dev", "93.184.216.34", []entry{{"ask", "WebFetch(domain:93.184.216.34)"}},
			"the ask rule WebFetch(domain:93.184.216.34) covers this call. the user can change the rule in /cfg/settings.json:1"},
		{"unknown", "https://go.dev", "", []entry{{"allow", "WebFetch(domain:*.dev)"}},
			"go.dev cannot be resolved here, so that a proxy would choose its address. use another source, or ask the user to add an allow rule such as WebFetch(domain:go.dev)" + add},
		{"unknown and named", "https://go.dev", "", []entry{{"allow", "WebFetch(domain:go.dev)"}}, ""},
	} {
		config := world(ruleset(c.rules...))
		addr, _ := netip.ParseAddr(c.addr)
		d := New(config).CheckAddr(*fetchOf(t, c.url).Site, addr)
		got := d.Reason + ". " + d.Next
		if d.Behavior == Allow {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %s\nnot %s", c.name, got, c.want)
		}
	}
}
