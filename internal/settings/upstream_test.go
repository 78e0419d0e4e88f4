package settings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestUpstreams checks the format of other clients and our additions to it.
func TestUpstreams(t *testing.T) {
	var none *Settings
	if _, refused := none.UpstreamRefused(Upstream{Name: "a"}); none.Upstreams() != nil || none.UpstreamPin() || refused || none.UpstreamPrefixes() == nil {
		t.Error("no settings, and servers")
	}
	s := parse(t, "/cfg/s.json", "/cfg", `{"upstream": {"pin": true}, "mcpServers": {
		"web": {"type": "http", "url": "https://example.com/mcp?k=${K}", "headers": {"Authorization": "Bearer ${T:-none}"}, "timeout": 1500},
		"fs": {"command": "npx", "args": ["-y", "server", "${DIR}"], "env": {"A": "${B}"}, "cwd": "sub", "eager": true, "loading": "always"},
		"off": {"command": "x", "disabled": true},
		"gone": {"disabled": true},
		"plain": {"type": "stdio", "command": "./x", "loading": "deferred", "eager": false},
		"s1": {"type": "streamable-http", "url": "http://[::1]:80"}, "s2": {"type": "streamableHttp", "url": "HTTP://LocalHost"}, "s3": {"url": "${U}"}
	}}`)
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
	at := func(line int, u Upstream) Upstream {
		u.Root, u.Source, u.Line = "/cfg", "/cfg/s.json", line
		return u
	}
	want := []Upstream{
		at(3, Upstream{Name: "fs", Command: "npx", Args: []string{"-y", "server", "${DIR}"}, Env: map[string]string{"A": "${B}"}, Dir: "sub", Eager: true, Always: true}),
		at(6, Upstream{Name: "plain", Command: "./x"}),
		at(7, Upstream{Name: "s1", URL: "http://[::1]:80"}), at(7, Upstream{Name: "s2", URL: "HTTP://LocalHost"}), at(7, Upstream{Name: "s3", URL: "${U}"}),
		at(2, Upstream{Name: "web", URL: "https://example.com/mcp?k=${K}", Headers: map[string]string{"Authorization": "Bearer ${T:-none}"}, Timeout: 1500 * time.Millisecond}),
	}
	if diff := cmp.Diff(want, s.Upstreams()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	got := s.Upstreams()
	got[0].Args[0], got[0].Env["A"], got[5].Headers["Authorization"] = "x", "x", "x"
	if diff := cmp.Diff(want, s.Upstreams()); diff != "" {
		t.Errorf("the servers can be changed from outside:\n%s", diff)
	}
	if !s.UpstreamPin() || fmt.Sprint(s.UpstreamPrefixes()) != "[web fs off gone plain s1 s2 s3]" {
		t.Errorf("%v, %v", s.UpstreamPin(), s.UpstreamPrefixes())
	}
}

func TestUpstreamErrors(t *testing.T) {
	const (
		web   = `its url is not one such as https://example.com/mcp, with an ASCII host`
		entry = `want a name, or an object with one of "serverName", "serverCommand" and "serverUrl"`
		url   = `want a URL such as https://example.com/*, in which * stands for any text`
	)
	for text, want := range map[string]string{
		`"mcpServers":[]`:       `mcpServers: want an object, have an array`,
		`"mcpServers":{"a":[]}`: `mcpServers.a: want an object, have an array`,
		`"mcpServers":{"a":{}}`: `mcpServers.a: it has neither command nor url; add one`,
		`"mcpServers":{"a":{"command":"x","url":"http://x"}}`:                   `mcpServers.a: it has both command and url; take one out`,
		`"mcpServers":{"a":{"type":"http","command":"x"}}`:                      `mcpServers.a: a server of type http needs a url`,
		`"mcpServers":{"a":{"type":"stdio","url":"http://x"}}`:                  `mcpServers.a: a server of type stdio needs a command`,
		`"mcpServers":{"a":{"type":1,"command":"x"}}`:                           `mcpServers.a.type: want a string, have a number`,
		`"mcpServers":{"a":{"command":" "}}`:                                    `mcpServers.a.command: want a text, have the string  `,
		`"mcpServers":{"a":{"command":["x"]}}`:                                  `mcpServers.a.command: want a text, have an array`,
		`"mcpServers":{"a":{"command":"x","args":"y"}}`:                         `mcpServers.a.args: want an array of strings, have the string y`,
		`"mcpServers":{"a":{"command":"x","args":[1]}}`:                         `mcpServers.a.args[0]: want a string, have a number`,
		`"mcpServers":{"a":{"command":"x","env":"SECRET"}}`:                     `mcpServers.a.env: want an object of strings, have a string`,
		`"mcpServers":{"a":{"command":"x","env":{"A":1}}}`:                      `mcpServers.a.env.A: want a string, have a number`,
		`"mcpServers":{"a":{"command":"x","env":{"A=B":"1"}}}`:                  `mcpServers.a.env.A=B: there can be none of that name`,
		`"mcpServers":{"a":{"url":"http://x","headers":{"A B":"1"}}}`:           `mcpServers.a.headers.A B: there can be none of that name`,
		`"mcpServers":{"a":{"url":"http://x","headers":{"X-Y":"1","x-y":"2"}}}`: `mcpServers.a.headers.x-y: the header is given twice`,
		`"mcpServers":{"a":{"url":"http://x","headers":{"":"1"}}}`:              `mcpServers.a.headers."": there can be none of that name`,
		`"mcpServers":{"a":{"url":"ftp://secret@x"}}`:                           `mcpServers.a: ` + web,
		`"mcpServers":{"a":{"url":"x.com/mcp"}}`:                                `mcpServers.a: ` + web,
		`"mcpServers":{"a":{"url":"https://é.example/"}}`:                       `mcpServers.a: ` + web,
		`"mcpServers":{"a":{"url":"https://x:0/"}}`:                             `mcpServers.a: ` + web,
		`"mcpServers":{"a":{"url":"https:///x"}}`:                               `mcpServers.a: ` + web,
		`"mcpServers":{"a":{"command":"x","eager":"yes"}}`:                      `mcpServers.a.eager: want true or false, have the string yes`,
		`"mcpServers":{"a":{"command":"x","disabled":0}}`:                       `mcpServers.a.disabled: want true or false, have a number`,
		`"mcpServers":{"a":{"command":"x","loading":"auto"}}`:                   `mcpServers.a.loading: want "deferred" or "always", have the string auto`,
		`"mcpServers":{"a":{"command":"x","timeout":"9s"}}`:                     `mcpServers.a.timeout: want a number of milliseconds, have the string 9s`,
		`"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}`:                `mcpServers.a: the key is given twice`,
		`"upstream":true`:                         `upstream: want an object, have a boolean`,
		`"upstream":{"pin":"on"}`:                 `upstream.pin: want true or false, have the string on`,
		`"allowedMcpServers":"a"`:                 `allowedMcpServers: want an array, have the string a`,
		`"deniedMcpServers":{}`:                   `deniedMcpServers: want an array, have an object`,
		`"deniedMcpServers":["a",1]`:              `deniedMcpServers[1]: ` + entry + `, have a number`,
		`"deniedMcpServers":[""]`:                 `deniedMcpServers[0]: ` + entry + `, have the string ""`,
		`"deniedMcpServers":[{}]`:                 `deniedMcpServers[0]: ` + entry,
		`"deniedMcpServers":[{"servername":"a"}]`: `deniedMcpServers[0]: ` + entry,
		`"deniedMcpServers":[{"serverName":"a","serverUrl":"http://a"}]`: `deniedMcpServers[0]: ` + entry,
		`"deniedMcpServers":[{"serverName":""}]`:                         `deniedMcpServers[0].serverName: want a name, have the string ""`,
		`"deniedMcpServers":[{"serverCommand":"npx x"}]`:                 `deniedMcpServers[0].serverCommand: want a program and its arguments, have the string npx x`,
		`"deniedMcpServers":[{"serverCommand":[]}]`:                      `deniedMcpServers[0].serverCommand: want a program and its arguments, or a text for sh, have an array without a program`,
		`"deniedMcpServers":[{"serverUrl":1}]`:                           `deniedMcpServers[0].serverUrl: want a URL, have a number`,
		`"deniedMcpServers":[{"serverUrl":"evil.com"}]`:                  `deniedMcpServers[0].serverUrl: ` + url + `, have the string evil.com`,
		`"deniedMcpServers":[{"serverUrl":"ftp://evil.com"}]`:            `deniedMcpServers[0].serverUrl: ` + url + `, have the string ftp://evil.com`,
		`"deniedMcpServers":[{"serverUrl":"https://é.com/*"}]`:           `deniedMcpServers[0].serverUrl: ` + url + `, have the string https://é.com/*`,
		`"deniedMcpServers":[{"serverUrl":"https://a@b.com/"}]`:          `deniedMcpServers[0].serverUrl: ` + url + `, have the string https://a@b.com/`,
		`"deniedMcpServers":[{"serverUrl":"https:///x"}]`:                `deniedMcpServers[0].serverUrl: ` + url + `, have the string https:///x`,
	} {
		_, err := Parse([]byte("{"+text+"}"), "/cfg/s.json", "/cfg")
		if want = "parsing settings /cfg/s.json: line 1: " + want; err == nil || err.Error() != want {
			t.Errorf("%s\nwant %s\nhave %v", text, want, err)
		}
		if err != nil && strings.Contains(strings.ToLower(err.Error()), "secret") {
			t.Errorf("%v shows a value", err)
		}
	}
}

// TestUpstreamWarnings checks that keys of other clients are not errors, and that a
// server is left out if rules could not distinguish it from another.
func TestUpstreamWarnings(t *testing.T) {
	s := parse(t, "/s.json", "/", `{"McpServers": {}, "upstream": {"pins": true},
		"mcpServers": {
			"a": {"command": "x", "autoApprove": [], "Args": [], "description": "d"},
			"old": {"type": "sse", "url": "http://x/sse"}, "odd": {"type": "ws", "url": "http://x"}, "older": {"type": "sse", "url": "http://x", "disabled": true},
			"": {"command": "x"}, "a__b": {"command": "x"}, "a_": {"command": "x"}, "日本": {"command": "x"}, "a! b": {"command": "x"},
			"my server": {"command": "x"}, "my.server": {"command": "x"}, "`+strings.Repeat("n", 48)+`": {"command": "x"}, "`+strings.Repeat("n", 49)+`": {"command": "x"},
			"t1": {"command": "x", "timeout": 60}, "t2": {"command": "x", "timeout": 3600001}, "t3": {"command": "x", "timeout": 1000}, "t4": {"command": "x", "timeout": 1e999},
			"t5": {"command": "x", "timeout": -5}, "t6": {"command": "x", "timeout": 3600000},
			"v": {"command": "${input:tok}", "args": ["${x", "$A ${B}"], "env": {"SECRET": "s3cret${env:A}"}}
		},
		"allowedMcpServers": ["a", 5, {}, {"serverUrl": "*.corp.com/*"}, {"serverUrl": "x"}]
	}`)
	const divide = "; a name has no two _ in a row and none at its end, where all but letters, digits and - is one; ignored"
	want := []string{
		`/s.json:1: upstream.pins: unknown key, ignored`,
		`/s.json:3: mcpServers.a.autoApprove: unknown key, ignored`,
		`/s.json:3: mcpServers.a.Args: unknown key, ignored; did you mean args?`,
		`/s.json:3: mcpServers.a.description: unknown key, ignored`,
		`/s.json:4: mcpServers.old.type: sse, the transport before streamable HTTP, is not supported, only stdio and http; ignored`,
		`/s.json:4: mcpServers.odd.type: ws is not supported, only stdio and http; ignored`,
		`/s.json:5: mcpServers."": a server needs a name; ignored`,
		`/s.json:5: mcpServers.a__b: in mcp__a__b__tool no rule could tell the server from the tool` + divide,
		`/s.json:5: mcpServers.a_: in mcp__a___tool no rule could tell the server from the tool` + divide,
		`/s.json:5: mcpServers.日本: in mcp______tool no rule could tell the server from the tool` + divide,
		`/s.json:5: mcpServers.a! b: in mcp__a__b__tool no rule could tell the server from the tool` + divide,
		`/s.json:6: mcpServers.` + strings.Repeat("n", 49) + `: a name has at most 48 characters, so that those of its tools fit in what clients take; ignored`,
		`/s.json:7: mcpServers.t1.timeout: 60 milliseconds is too short, the least is 1000; the default is taken`,
		`/s.json:7: mcpServers.t2.timeout: 3600001 milliseconds is too long; 3600000 is taken`,
		`/s.json:7: mcpServers.t4.timeout: 1e999 milliseconds is too long; 3600000 is taken`,
		`/s.json:8: mcpServers.t5.timeout: -5 milliseconds is too short, the least is 1000; the default is taken`,
		`/s.json:9: mcpServers.v.command: a ${ in it begins no variable such as ${NAME} or ${NAME:-default}, and stays as it is`,
		`/s.json:9: mcpServers.v.args[0]: a ${ in it begins no variable such as ${NAME} or ${NAME:-default}, and stays as it is`,
		`/s.json:9: mcpServers.v.env.SECRET: a ${ in it begins no variable such as ${NAME} or ${NAME:-default}, and stays as it is`,
		`/s.json:6: mcpServers.my.server: tools of the server my server in /s.json:6 have names that begin with mcp__my_server__, too; ignored`,
		`/s.json:11: allowedMcpServers[1]: want a name, or an object with one of "serverName", "serverCommand" and "serverUrl", have a number; it allows nothing`,
		`/s.json:11: allowedMcpServers[2]: want a name, or an object with one of "serverName", "serverCommand" and "serverUrl"; it allows nothing`,
		`/s.json:11: allowedMcpServers[3]: the URL of an allowed server needs a scheme and a host, such as https://example.com/*; it allows nothing`,
		`/s.json:11: allowedMcpServers[4].serverUrl: want a URL such as https://example.com/*, in which * stands for any text, have the string x; it allows nothing`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	var have []string
	for _, u := range s.Upstreams() {
		have = append(have, fmt.Sprint(u.Prefix(), u.Timeout))
	}
	wantNames := []string{"a0s", "my_server0s", strings.Repeat("n", 48) + "0s", "t10s", "t21h0m0s", "t31s", "t41h0m0s", "t50s", "t61h0m0s", "v0s"}
	if diff := cmp.Diff(wantNames, have); diff != "" {
		t.Errorf("servers (-want +have):\n%s", diff)
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"CMD": "bin/x", "ABS": "/opt/../usr/x", "D": "/d", "EMPTY": "", "REF": "${D}", "TOKEN": "s3cret", "LINE": "a\r\nX: s3cret", "NUL": "s3cret\x00", "HOSTILE": "s3cret://"}
	getenv := func(k string) string { return env[k] }
	for _, c := range []struct {
		name string
		u    Upstream
		want Upstream // without Name and Root
		err  string
	}{
		{name: "nothing", u: Upstream{Command: "npx", Args: []string{"a", "$D", "~/x", "./y"}}, want: Upstream{Command: "npx", Args: []string{"a", "$D", "~/x", "./y"}}},
		{name: "values", u: Upstream{Command: "npx", Args: []string{"${D}/${D}", "${REF}"}, Env: map[string]string{"A": "x${TOKEN}y"}, Dir: "${D}/.."},
			want: Upstream{Command: "npx", Args: []string{"/d//d", "${D}"}, Env: map[string]string{"A": "xs3crety"}, Dir: "/"}},
		{name: "defaults", u: Upstream{Command: "npx", Args: []string{"${NO:-a b}", "${EMPTY:-c}", "${NO:-}", "${D:-no}", "${NO:-:-}"}}, want: Upstream{Command: "npx", Args: []string{"a b", "c", "", "/d", ":-"}}},
		{name: "no variables", u: Upstream{Command: "npx", Args: []string{"${", "${}", "${1}", "${a b}", "${env:D}", "$${D}"}}, want: Upstream{Command: "npx", Args: []string{"${", "${}", "${1}", "${a b}", "${env:D}", "$/d"}}},
		{name: "relative", u: Upstream{Command: "./x", Dir: "sub"}, want: Upstream{Command: "/root/x", Dir: "/root/sub"}},
		{name: "relative by variable", u: Upstream{Command: "${CMD}", Dir: "${NO:-.}"}, want: Upstream{Command: "/root/bin/x", Dir: "/root"}},
		{name: "absolute", u: Upstream{Command: "${ABS}"}, want: Upstream{Command: "/usr/x"}},
		{name: "home", u: Upstream{Command: "~/bin/x", Dir: "~"}, want: Upstream{Command: "/home/u/bin/x", Dir: "/home/u"}},
		{name: "web", u: Upstream{URL: "https://${NO:-x.com}/${TOKEN}", Headers: map[string]string{"A": "Bearer ${TOKEN}"}}, want: Upstream{URL: "https://x.com/s3cret", Headers: map[string]string{"A": "Bearer s3cret"}}},
		{name: "command", u: Upstream{Command: "${NO}"}, err: "command: the variable NO is not set; set it, or write a default: ${NO:-default}"},
		{name: "first", u: Upstream{Command: "x", Env: map[string]string{"B": "${NO2}", "A": "s3cret${NO1}", "C": "${NO3}"}}, err: "env.A: the variable NO1 is not set; set it, or write a default: ${NO1:-default}"},
		{name: "args", u: Upstream{Command: "x", Args: []string{"", "${EMPTY}"}}, err: "args[1]: the variable EMPTY is not set; set it, or write a default: ${EMPTY:-default}"},
		{name: "cwd", u: Upstream{Command: "x", Dir: "${NO}"}, err: "cwd: the variable NO is not set; set it, or write a default: ${NO:-default}"},
		{name: "url", u: Upstream{URL: "${NO}"}, err: "url: the variable NO is not set; set it, or write a default: ${NO:-default}"},
		{name: "empty", u: Upstream{Command: "${NO:-}"}, err: "command: with its variables replaced it is empty; give one of them a value"},
		{name: "no url", u: Upstream{URL: "${HOSTILE}"}, err: "url: " + wantWeb},
		{name: "header", u: Upstream{URL: "http://x", Headers: map[string]string{"A": "${LINE}"}}, err: "headers.A: a header cannot hold the end of a line; take that out"},
		{name: "header unset", u: Upstream{URL: "http://x", Headers: map[string]string{"A": "${NO}"}}, err: "headers.A: the variable NO is not set; set it, or write a default: ${NO:-default}"},
		{name: "nul", u: Upstream{Command: "x", Args: []string{"${NUL}"}}, err: "args[0]: it holds a NUL character; take that out"},
		{name: "no home", u: Upstream{Command: "~bob/x"}, want: Upstream{Command: "/root/~bob/x"}},
	} {
		before := fmt.Sprint(c.u)
		c.u.Name, c.u.Root = "my\nserver", "/root"
		c.want.Name, c.want.Root = c.u.Name, c.u.Root
		got, err := c.u.Expand(getenv, "/home/u")
		if c.err != "" {
			if err == nil || err.Error() != `server "my\nserver": `+c.err || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +have):\n%s", c.name, err, diff)
		}
		if c.u.Name, c.u.Root = "", ""; fmt.Sprint(c.u) != before {
			t.Errorf("%s: the server itself was changed", c.name)
		}
	}
	for _, u := range []Upstream{{Command: "./x"}, {Command: "~/x", Root: "/r"}, {Command: "x", Dir: "y"}} {
		if got, err := u.Expand(getenv, ""); err == nil || !strings.HasSuffix(err.Error(), ": it begins at a folder that is not known; write an absolute path") {
			t.Errorf("%+v: %+v, %v", u, got, err)
		}
	}
}

// TestMergeUpstreams checks that of two servers with the same name the more
// authoritative one replaces the other completely, even if it is disabled.
func TestMergeUpstreams(t *testing.T) {
	one := parse(t, "/one/s.json", "/one", `{"mcpServers":{"a":{"command":"one"},"b":{"command":"x","disabled":true},"c":{"disabled":true},"x y":{"command":"x"}}}`)
	two := parse(t, "/two/s.json", "/two", `{"mcpServers":{"d":{"command":"./d"},"c":{"command":"two"},"b":{"command":"two"},`+"\n"+`"x.y":{"command":"y"},"a":{"url":"http://two","eager":true,"headers":{"A":"b"}}},"upstream":{"pin":true}}`)
	m := Merge([]*Settings{one, two})
	var have []string
	for _, u := range m.Upstreams() {
		have = append(have, fmt.Sprint(u.Name, " ", u.Command, u.URL, " ", u.Eager, len(u.Headers), " ", u.Root, " ", u.Source, ":", u.Line))
	}
	want := []string{"a one false 0 /one /one/s.json:1", "d ./d false 0 /two /two/s.json:1", "x y x false 0 /one /one/s.json:1"}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/two/s.json:2: mcpServers.x.y: tools of the server x y in /one/s.json:1 have names that begin with mcp__x_y__, too; ignored"}, m.Warnings()); diff != "" {
		t.Errorf("warnings (-want +have):\n%s", diff)
	}
	for _, c := range []struct {
		first, second string
		want          bool
	}{{`{}`, `{}`, false}, {`{}`, `{"upstream":{"pin":true}}`, true}, {`{"upstream":{"pin":false}}`, `{"upstream":{"pin":true}}`, false}, {`{"upstream":{"pin":true}}`, `{"upstream":{"pin":false}}`, true}} {
		if m := Merge([]*Settings{parse(t, "/1", "/", c.first), parse(t, "/2", "/", c.second)}); m.UpstreamPin() != c.want {
			t.Errorf("%+v: %v", c, m.UpstreamPin())
		}
	}
}

// TestTightenedUpstreams checks that no server of untrusted settings is started, and
// that their denied list applies.
func TestTightenedUpstreams(t *testing.T) {
	s := parse(t, "/p/s.json", "/p", `{"mcpServers": {"a": {"command": "./x", "args": ["-c", "y\u001b[2K"],
		"env": {"TOKEN": "s3cret", "B\u202e": "s3cret"}},
		"w": {"url": "https://x.com/", "headers": {"Authorization": "s3cret"}, "eager": true}},
		"deniedMcpServers": ["bad"], "allowedMcpServers": [],
		"upstream": {"pin": true}}`)
	want := []Loosening{
		{"mcpServers.a.command", 1, `"./x"`}, {"mcpServers.a.args", 1, `"-c"`}, {"mcpServers.a.args", 1, `"y\x1b[2K"`},
		{"mcpServers.a.env", 2, `"TOKEN"`}, {"mcpServers.a.env", 2, `"B\u202e"`},
		{"mcpServers.w.url", 3, `"https://x.com/"`}, {"mcpServers.w.headers", 3, `"Authorization"`}, {"mcpServers.w.eager", 3, "true"},
		{"allowedMcpServers", 4, "[]"},
	}
	if diff := cmp.Diff(want, s.Loosens()); diff != "" {
		t.Errorf("loosens (-want +have):\n%s", diff)
	}
	g := s.Tightened()
	if len(g.Upstreams()) != 0 || !g.UpstreamPin() {
		t.Errorf("%+v, %v", g.Upstreams(), g.UpstreamPin())
	}
	if w := g.Warnings(); len(w) != 1 || !strings.Contains(w[0], "not mcpServers (line 1), allowedMcpServers (line 4); to use") {
		t.Errorf("%q", w)
	}
	user := parse(t, "/u.json", "/", `{"mcpServers":{"bad":{"command":"x"},"a":{"command":"z"}}}`)
	m := Merge([]*Settings{g, user})
	if why, refused := m.UpstreamRefused(Upstream{Name: "bad"}); !refused || why != "denied by deniedMcpServers in /p/s.json:4" {
		t.Errorf("%s, %v", why, refused)
	}
	if why, refused := m.UpstreamRefused(Upstream{Name: "a"}); refused || len(m.Upstreams()) != 2 {
		t.Errorf("%s, %v, %+v", why, refused, m.Upstreams())
	}
	off := parse(t, "/p/s.json", "/p", `{"upstream":{"pin":false},"allowedMcpServers":["x"]}`)
	if diff := cmp.Diff([]Loosening{{"upstream.pin", 1, "false"}, {"allowedMcpServers", 1, `"x"`}}, off.Loosens()); diff != "" {
		t.Errorf("loosens (-want +have):\n%s", diff)
	}
	pinned := parse(t, "/u.json", "/", `{"upstream":{"pin":true}}`)
	if m := Merge([]*Settings{off.Tightened(), pinned}); !m.UpstreamPin() {
		t.Error("a project that nobody trusts takes the pin away")
	}
	if l := parse(t, "/p/s.json", "/p", `{"deniedMcpServers":["x"],"upstream":{"pin":true},"mcpServers":{}}`).Loosens(); len(l) != 0 {
		t.Errorf("it only tightens: %+v", l)
	}
}
