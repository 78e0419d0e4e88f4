package settings

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestUpstreamRefused compares servers with one entry, as the only entry of a denied
// list and of an allowed list.
func TestUpstreamRefused(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for _, c := range []struct{ entry, server, refused string }{
		// By name: allowing is exact.
		{`"gh"`, "gh", "deny"},
		{`"gh"`, "GH", "deny allow"},
		{`"gh"`, " gh ", "deny allow"},
		{`"gh"`, "ghx", "allow"},
		{`"GH"`, "gh", "deny allow"},
		{`"my server"`, "my server", "deny"},
		{`"my server"`, "my.Server", "deny allow"},
		{`"K"`, "\u212a", "deny allow"}, // the Kelvin sign becomes k in lower case
		{`"s"`, "\u017f", "deny allow"},
		{`"gh*"`, "ghost", "deny"},
		{`"gh*"`, "Ghost", "deny allow"},
		{`"*-x"`, "a-x", "deny"},
		{`"*"`, "anything", "deny"},
		{`"a*b*c"`, "aXbYc", "deny"},
		{`"a*b*c"`, "acb", "allow"},
		{`{"serverName":"gh"}`, "gh", "deny"},
		{`{"serverName":"gh"}`, "x npx gh", "allow"},
		// By command.
		{`{"serverCommand":["npx","-y","a"]}`, "x npx -y a", "deny"},
		{`{"serverCommand":["npx","-y","a"]}`, "x npx -y", "allow"},
		{`{"serverCommand":["npx","-y","a"]}`, "x npx -y a b", "allow"},
		{`{"serverCommand":["npx","-y","a"]}`, "x NPX -y a", "allow"},
		{`{"serverCommand":["npx","-y","a"]}`, "x /usr/bin/npx -y a", "deny allow"},
		{`{"serverCommand":["/usr/bin/npx"]}`, "x npx", "deny allow"},
		{`{"serverCommand":["/usr/bin/npx"]}`, "x /opt/npx", "allow"},
		{`{"serverCommand":["npx"]}`, "x npx", "deny"},
		{`{"serverCommand":["./bin/../srv","*"]}`, "x /cfg/srv *", "deny"},
		{`{"serverCommand":["./srv","*"]}`, "x /cfg/srv y", "allow"},
		{`{"serverCommand":["~/srv"]}`, "x /home/u/srv", "deny"},
		{`{"serverCommand":["npx"]}`, "npx https://npx/", "allow"},
		// By URL.
		{`{"serverUrl":"*"}`, "x https://a.com/", "deny"},
		{`{"serverUrl":"*"}`, "x npx", "allow"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com/mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://A.Com/mcp", "deny"},
		{`{"serverUrl":"HTTPS://A.com/mcp"}`, "x https://a.com/mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com:443/mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com:0443/mcp", "deny"},
		{`{"serverUrl":"https://a.com:443/mcp"}`, "x https://a.com/mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com:8443/mcp", "allow"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x http://a.com/mcp", "allow"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com./mcp", "deny"},
		{`{"serverUrl":"https://a.com./mcp"}`, "x https://a.com/mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com//x/..//mcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com/%6dcp", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com/mcp/", "deny allow"},
		{`{"serverUrl":"https://a.com/mcp/"}`, "x https://a.com/mcp", "deny allow"},
		{`{"serverUrl":"https://a.com/mcp/*"}`, "x https://a.com/mcp", "deny allow"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com/mcp?x=1", "deny allow"},
		{`{"serverUrl":"https://a.com/mcp?x=*"}`, "x https://a.com/mcp?x=1", "deny"},
		{`{"serverUrl":"https://a.com/mcp?x=*"}`, "x https://a.com/mcp?y=1", "allow"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://a.com/mcp#x", "deny"},
		{`{"serverUrl":"https://a.com/mcp"}`, "x https://me:pw@a.com/mcp", "deny"},
		{`{"serverUrl":"https://a.com"}`, "x https://a.com/", "deny"},
		{`{"serverUrl":"https://a.com"}`, "x https://a.com/mcp", "allow"},
		{`{"serverUrl":"https://a.com/*"}`, "x https://a.com", "deny"},
		{`{"serverUrl":"https://a.com/*"}`, "x https://a.com/mcp?x=1", "deny"},
		{`{"serverUrl":"https://a.com/*"}`, "x https://a.com.evil.com/", "allow"},
		{`{"serverUrl":"https://a.com/*"}`, "x https://a.com@evil.com/", "allow"},
		{`{"serverUrl":"https://a.com/ok/*"}`, "x https://a.com/ok/../admin", "deny allow"},
		{`{"serverUrl":"https://a.com/ok/*"}`, "x https://a.com/ok/%2e%2e/admin", "deny allow"},
		{`{"serverUrl":"https://a.com/no/*"}`, "x https://a.com/ok/%2e%2e/no/x", "deny"},
		{`{"serverUrl":"https://*.a.com/*"}`, "x https://mcp.a.com/x", "deny"},
		{`{"serverUrl":"https://*.a.com/*"}`, "x https://a.com/x", "allow"},
		{`{"serverUrl":"https://*.a.com/*"}`, "x https://evil.com/x.a.com/", "deny allow"},
		{`{"serverUrl":"https://*.a.com/*"}`, "x https://evil.com?.a.com/", "deny allow"},
		{`{"serverUrl":"http://localhost:*/*"}`, "x http://localhost:3000/mcp", "deny"},
		{`{"serverUrl":"http://localhost:*/*"}`, "x http://localhost/mcp", "deny"},
		{`{"serverUrl":"http://localhost:*/*"}`, "x http://localhost:80/mcp", "deny"},
		{`{"serverUrl":"*://a.com/*"}`, "x http://a.com/x", "deny"},
		{`{"serverUrl":"http*://a.com/*"}`, "x https://a.com/x", "deny"},
		{`{"serverUrl":"https://*"}`, "x https://a.com/x", "deny"},
		{`{"serverUrl":"https://*"}`, "x http://a.com/x", "allow"},
		{`{"serverUrl":"https://a.com*"}`, "x https://a.com.evil.com/x", "deny allow"},
		{`{"serverUrl":"*evil*"}`, "x https://EVIL.com/x", "deny allow"},
		{`{"serverUrl":"*//evil.com/x"}`, "x https://evil.com:443/a/../x", "deny allow"},
		{`{"serverUrl":"http://[::1]/*"}`, "x http://[0:0:0:0:0:0:0:1]:80/x", "deny"},
		{`{"serverUrl":"http://[::1]:*/*"}`, "x http://[::1]:99/x", "deny"},
		{`{"serverUrl":"http://127.0.0.1/*"}`, "x http://[::ffff:127.0.0.1]/x", "deny"},
	} {
		u := Upstream{Name: c.server}
		if name, rest, ok := strings.Cut(c.server, " "); ok && name != "" && !strings.HasPrefix(c.server, "my ") {
			u.Name = name
			if words := strings.Fields(rest); strings.Contains(words[0], "://") {
				u.URL = words[0]
			} else {
				u.Command, u.Args = words[0], words[1:]
			}
		}
		var have []string
		for _, list := range []string{"deny", "allow"} {
			key := map[string]string{"deny": "deniedMcpServers", "allow": "allowedMcpServers"}[list]
			s, err := Parse([]byte(`{"`+key+`":[`+c.entry+`]}`), "/cfg/s.json", "/cfg")
			if err != nil {
				t.Errorf("%s: %v", c.entry, err)
				continue
			}
			why, refused := s.UpstreamRefused(u)
			if refused {
				have = append(have, list)
			}
			want := map[string]string{"deny": "denied by deniedMcpServers in /cfg/s.json:1", "allow": "not among allowedMcpServers in /cfg/s.json"}[list]
			if refused != (why != "") || refused && why != want {
				t.Errorf("%s, %s: %q, want %q", c.entry, c.server, why, want)
			}
		}
		if strings.Join(have, " ") != c.refused {
			t.Errorf("%s, %s: refused by %q, want %q", c.entry, c.server, have, c.refused)
		}
	}
}

// TestUpstreamLists checks that the denied lists of all files apply, that of the
// allowed lists only the first does, and that a denied server is not allowed.
func TestUpstreamLists(t *testing.T) {
	for _, c := range []struct{ one, two, want string }{
		{`{}`, `{}`, ""},
		{`{"deniedMcpServers":["a"]}`, `{"deniedMcpServers":["b"]}`, "a:1 b:2"},
		{`{"allowedMcpServers":["a"]}`, `{"allowedMcpServers":["b","c"]}`, "b:1 c:1"},
		{`{}`, `{"allowedMcpServers":["b"]}`, "a:2 c:2"},
		{`{"allowedMcpServers":[]}`, `{"allowedMcpServers":["a"]}`, "a:1 b:1 c:1"},
		{`{"allowedMcpServers":[7]}`, `{"allowedMcpServers":["a"]}`, "a:1 b:1 c:1"},
		{`{"allowedMcpServers":["*"]}`, `{"deniedMcpServers":["*b"]}`, "b:2"},
		{`{"allowedMcpServers":["a","b"],"deniedMcpServers":["a"]}`, `{}`, "a:1 c:1"},
		{`{"allowedMcpServers":["a",{"serverCommand":["x"]}]}`, `{}`, "b:1 c:1"},
	} {
		m := Merge([]*Settings{parse(t, "/1", "/", c.one), parse(t, "/2", "/", c.two)})
		var have []string
		for _, name := range []string{"a", "b", "c"} {
			if why, refused := m.UpstreamRefused(Upstream{Name: name, Command: "y"}); refused {
				_, file, _ := strings.Cut(why, " in /")
				have = append(have, fmt.Sprintf("%s:%.1s", name, file))
			}
		}
		if strings.Join(have, " ") != c.want {
			t.Errorf("%s, %s: %q, want %s", c.one, c.two, have, c.want)
		}
	}
	s := parse(t, "/a\n.json", "/", "{\"deniedMcpServers\":[\"a\",\n\"b\"],\"allowedMcpServers\":[\"c\"]}")
	for name, want := range map[string]string{"b": `denied by deniedMcpServers in "/a\n.json":2`, "x": `not among allowedMcpServers in "/a\n.json"`} {
		if why, _ := s.UpstreamRefused(Upstream{Name: name}); why != want {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestWildcard compares the matcher with a slow one, and runs it on inputs for which a
// naive matcher would take practically for ever.
func TestWildcard(t *testing.T) {
	var slow func(pattern, text string) bool
	slow = func(pattern, text string) bool {
		head, rest, star := strings.Cut(pattern, "*")
		if !star {
			return pattern == text
		}
		for i := len(head); strings.HasPrefix(text, head) && i <= len(text); i++ {
			if slow(rest, text[i:]) {
				return true
			}
		}
		return false
	}
	all := []string{""}
	for i := 0; i < len(all) && len(all) < 400; i++ {
		all = append(all, all[i]+"a", all[i]+"b", all[i]+"*")
	}
	for _, pattern := range all {
		for _, text := range all {
			if text = strings.ReplaceAll(text, "*", "c"); wildcard(pattern, text) != slow(pattern, text) {
				t.Errorf("%s, %s: %v", strconv.Quote(pattern), strconv.Quote(text), wildcard(pattern, text))
			}
		}
	}
	if wildcard(strings.Repeat("a*", 5000)+"b", strings.Repeat("a", 10000)) {
		t.Error("it matches what does not end in b")
	}
}
