package site

import (
	"bufio"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// corpus returns the hostile URLs of testdata/ssrf_urls.txt. What follows a blank is a remark.
func corpus(t *testing.T) (urls []string) {
	t.Helper()
	f, err := os.Open("testdata/ssrf_urls.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), " (")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		raw, err := strconv.Unquote(`"` + line + `"`)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		urls = append(urls, raw)
	}
	if len(urls) < 70 {
		t.Fatalf("%d URLs", len(urls))
	}
	return urls
}

// TestCorpus checks that each hostile URL is malformed or not public. The names of the domain
// example stand for name servers and pages that are hostile; package fetch tests those.
func TestCorpus(t *testing.T) {
	var got strings.Builder
	for _, raw := range corpus(t) {
		u, s, err := Parse(raw)
		switch {
		case err != nil:
			fmt.Fprintf(&got, "%q: %v\n", raw, err)
		case s.Class() != Public:
			fmt.Fprintf(&got, "%q: %v is %v\n", raw, s, s.Class())
		case strings.HasSuffix(s.Host, ".example"), s.Host == "127.0.0.1.nip.io":
			fmt.Fprintf(&got, "%q: public\n", raw)
		default:
			t.Errorf("%q is taken for public: %v", raw, u)
		}
	}
	const file = "testdata/corpus.golden"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the texts differ from %s; run go test ./web/site -update and read the diff. They are:\n%s", file, got.String())
	}
}

// TestParse checks the normal form of URLs and the errors that TestCorpus does not cover.
func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		"http://Example.COM/a?b#c":                "https://example.com/a?b#c example.com",
		"https://example.com.:443/":               "https://example.com/ example.com",
		"https://example.com/é\u202e<`#\u202e`":   "https://example.com/%C3%A9%E2%80%AE%3C%60#%E2%80%AE%60 example.com",
		"https://bücher.example/":                 "https://xn--bcher-kva.example/ xn--bcher-kva.example",
		"http://example.com:80/":                  "https://example.com/ example.com",
		"http://example.com:8080/":                "https://example.com:8080/ example.com:8080",
		"http://localhost:3000/x":                 "http://localhost:3000/x localhost:3000",
		"http://localhost:443/x":                  "http://localhost:443/x localhost",
		"http://127.0.0.1/":                       "http://127.0.0.1/ 127.0.0.1:80",
		"https://[2606:4700::1111]:8443/":         "https://[2606:4700::1111]:8443/ [2606:4700::1111]:8443",
		"https://[::FFFF:1.2.3.4]/":               "https://1.2.3.4/ 1.2.3.4",
		"https://[fe80::1%25eth0]/":               `error: fe80::1%eth0 is not a host name or an address`,
		"https://a..b/":                           `error: a..b is not a host name or an address`,
		"https://a_b.example/":                    "https://a_b.example/ a_b.example",
		"https://v2--site.example/":               "https://v2--site.example/ v2--site.example",
		"https://example.com../":                  `error: example.com.`,
		"https://example.com。。/":                  `error: example.com。。 is not a host name or an address`,
		"https://example.com。/":                   `error: example.com。 is not a host name or an address`,
		"https://aא.example/":                     `error: aא.example is not a host name or an address`,
		"https://a,b.example/":                    `error: a,b.example is not a host name or an address`,
		"https://xn--a.example/":                  `error: xn--a.example is not a host name or an address`,
		"ftp://user:secret@example.com/":          `error: ftp://user:xxxxx@example.com/ is not an http or https URL`,
		"https://x.0x1F/":                         `error: x.0x1F is not a host name or an address`,
		"https://example.com:/":                   `error: example.com: has no valid port`,
		"https://ex ample.com/":                   `error: the URL contains a blank, a backslash or a control character`,
		"https://" + strings.Repeat("a", 8192):    `error: the URL is longer than 8192 bytes`,
		"mailto:a@b":                              `error: mailto:a@b is not an http or https URL`,
		"https:example.com":                       `error: the URL names no host`,
		"https://example.com/?q=é\u202e\u00a0<`x": "https://example.com/?q=%C3%A9%E2%80%AE%C2%A0%3C%60x example.com",
	} {
		u, s, err := Parse(raw)
		got := ""
		if err != nil {
			fact, _, _ := strings.Cut(err.Error(), ". ")
			got = "error: " + fact
		} else {
			got = u.String() + " " + s.String()
		}
		if got != want {
			t.Errorf("%.40s: %s, not %s", raw, got, want)
		}
		if err != nil {
			continue
		}
		if strings.ContainsFunc(u.String(), func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>`", r) }) {
			t.Errorf("%s has characters that are not escaped", u)
		}
		if again, same, err := Parse(u.String()); err != nil || again.String() != u.String() || same != s {
			t.Errorf("%s: parsed again it is %v, %v, %v", raw, again, same, err)
		}
	}
}

// TestParseHost checks that a normal form is stable: a text whose form has another one is no
// host. FuzzServe of package proxy has found the first.
func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{"a\x94b": "", "xn--a-zrt": "", "BÜCHER.example.": "xn--bcher-kva.example", "::ffff:10.0.0.1": "10.0.0.1"} {
		if got, err := ParseHost(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestClassOf(t *testing.T) {
	for text, want := range map[string]Class{
		"93.184.216.34": Public, "2606:4700::1111": Public, "::ffff:93.184.216.34": Public,
		"127.0.0.1": Loopback, "127.255.0.1": Loopback, "::1": Loopback, "::ffff:127.0.0.1": Loopback,
		"10.0.0.1": Private, "172.16.0.1": Private, "192.168.1.1": Private, "100.64.0.1": Private, "fd00::1": Private,
		"169.254.169.254": Reserved, "100.100.100.200": Reserved, "168.63.129.16": Reserved, "fd00:ec2::254": Reserved,
		"0.0.0.0": Reserved, "::": Reserved, "224.0.0.1": Reserved, "255.255.255.255": Reserved, "192.0.0.192": Reserved,
		"64:ff9b::7f00:1": Reserved, "64:ff9b:1::1": Reserved, "2002:7f00:1::": Reserved, "2001::1": Reserved, "::127.0.0.1": Reserved,
		"fe80::1": Reserved, "fec0::1": Reserved, "ff02::1": Reserved, "100::1": Reserved, "2001:db8::1": Reserved, "5f00::1": Reserved, "3fff::1": Reserved,
	} {
		if got := ClassOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %v, not %v", text, got, want)
		}
	}
	if got := ClassOf(netip.Addr{}); got != Reserved {
		t.Errorf("no address is %v", got)
	}
}

// TestPattern checks which sites and addresses patterns cover and open. The marks after a
// site are: c covers it, n names it.
func TestPattern(t *testing.T) {
	sites := map[string]Site{}
	for _, url := range []string{
		"https://go.dev", "https://pkg.go.dev", "https://notgo.dev", "https://go.dev.evil.com", "https://go.dev:8443",
		"http://localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000", "https://10.1.2.3", "https://169.254.169.254", "https://nas.local",
	} {
		_, s, err := Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		sites[s.String()] = s
	}
	for text, want := range map[string]string{
		"go.dev": "go.dev:cn go.dev:8443:cn", "GO.dev.": "go.dev:cn go.dev:8443:cn", "*.go.dev": "pkg.go.dev:cn",
		"go.dev:8443": "go.dev:8443:cn", "localhost": "localhost:3000:cn", "localhost:3000": "localhost:3000:cn", "localhost:3001": "",
		"127.0.0.1": "127.0.0.1:3000:cn", "[::1]:3000": "[::1]:3000:cn", "::1": "[::1]:3000:cn", "10.0.0.0/8": "10.1.2.3:cn",
		"169.254.0.0/16": "169.254.169.254:c", "169.254.169.254": "169.254.169.254:cn", "*.local": "nas.local:cn", "nas.local": "nas.local:cn",
		"*": "10.1.2.3:c 127.0.0.1:3000:c 169.254.169.254:c [::1]:3000:c go.dev.evil.com:c go.dev:8443:c go.dev:c localhost:3000:c nas.local:c notgo.dev:c pkg.go.dev:c",
	} {
		p, err := ParsePattern("domain:" + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for name, s := range sites {
			marks := ""
			if p.Covers(s) {
				marks += "c"
			}
			if p.Names(s) {
				marks += "n"
			}
			if marks != "" {
				got = append(got, name+":"+marks)
			}
		}
		if !sameWords(strings.Join(got, " "), want) {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"go.dev":                  "the pattern must begin with domain:, as in domain:example.com",
		"domain:https://go.dev/":  "a domain has no scheme, user or path",
		"domain:go.dev:http":      "the port is not a number from 1 to 65535",
		"domain:go.dev:0":         "the port is not a number from 1 to 65535",
		"domain:go.*.dev":         `"*" can stand only for the first labels, as in *.example.com`,
		"domain:*go.dev":          `"*" can stand only for the first labels, as in *.example.com`,
		"domain:127.1":            "it names no host",
		"domain:":                 "it names no host",
		"domain:fe80::1%eth0":     "the address has a zone",
		"domain:::ffff:1.2.3.0/9": "the range is an IPv4 one in IPv6 form",
	} {
		if _, err := ParsePattern(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestOpens checks that a rule on a name opens the addresses of local networks only if the
// name cannot be public.
func TestOpens(t *testing.T) {
	for _, c := range []struct {
		pattern, host, addr string
		want                bool
	}{
		{"example.com", "example.com", "127.0.0.1", false},
		{"example.com", "example.com", "10.0.0.1", false},
		{"nas.local", "nas.local", "10.0.0.1", true},
		{"*.local", "nas.local", "10.0.0.1", true},
		{"*", "nas.local", "10.0.0.1", false},
		{"localhost", "localhost", "127.0.0.1", true},
		{"localhost", "localhost", "169.254.169.254", false},
		{"nas.local", "other.local", "10.0.0.1", false},
		{"10.0.0.0/8", "example.com", "10.0.0.1", true},
		{"10.0.0.1", "example.com", "10.0.0.1", true},
		{"169.254.169.254", "example.com", "169.254.169.254", true},
		{"0.0.0.0/0", "example.com", "169.254.169.254", false},
	} {
		p, err := ParsePattern("domain:" + c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Opens(Site{c.host, 443}, netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
