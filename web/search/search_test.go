package search

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/web/endpoint"
)

const secret = "k3y-That-Must-Not-Show"

// provider returns a provider that a handler answers for.
func provider(t *testing.T, name string, h http.HandlerFunc) *searcher {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return newSearcher(Config{Provider: name, URL: server.URL + "/", Key: endpoint.Key{Env: "KEY", Getenv: func(string) string { return secret }}})
}

func domain(t *testing.T, text string) Domain {
	t.Helper()
	d, err := ParseDomain(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestProviders checks the request to each provider, and the results read from a recorded answer.
func TestProviders(t *testing.T) {
	for _, c := range []struct {
		name, requests string
		want           Results
	}{
		{"brave", "GET /res/v1/web/search?count=20&q=go+generics+%28site%3Ago.dev+OR+site%3Aexample.com%29\nX-Subscription-Token: $KEY\n" +
			"GET /res/v1/web/search?count=20&q=go+generics+-site%3Aa.b\nX-Subscription-Token: $KEY\n",
			Results{Results: []Result{
				{"Tutorial: Getting started with generics - The Go Programming Language", "https://go.dev/doc/tutorial/generics", "With generics, you can declare & use functions such as Map[K]V or vector<int>.", "2024-03-05"},
				{"An Introduction To Generics", "https://go.dev/blog/intro-generics", "An introduction.", "3 days ago"},
			}}},
		{"tavily", `POST /search {"include_domains":["go.dev","example.com"],"max_results":10,"query":"go generics"}` + "\nAuthorization: Bearer $KEY\n" +
			`POST /search {"exclude_domains":["a.b"],"max_results":10,"query":"go generics"}` + "\nAuthorization: Bearer $KEY\n",
			Results{Results: []Result{
				{"Tutorial: Getting started with generics", "https://go.dev/doc/tutorial/generics", "func SumNumbers[K comparable, V int64 | float64](m map[K]V) V; in C++ std::vector<int>", ""},
				{"News", "https://news.example.com/a", "Text of two lines", "Tue, 05 Mar 2024 10:11:12 GMT"},
			}}},
		{"exa", `POST /search {"contents":{"highlights":true},"includeDomains":["go.dev","example.com"],"numResults":10,"query":"go generics","type":"auto"}` + "\nX-Api-Key: $KEY\n" +
			`POST /search {"contents":{"highlights":true},"excludeDomains":["a.b"],"numResults":10,"query":"go generics","type":"auto"}` + "\nX-Api-Key: $KEY\n",
			Results{Results: []Result{
				{"Tutorial: Getting started with generics", "https://go.dev/doc/tutorial/generics", "First part. … Second part.", "2024-03-05"},
				{"example.org", "https://example.org/", "Whole text", ""},
			}}},
		{"searxng", "GET /search?format=json&q=go+generics+%28site%3Ago.dev+OR+site%3Aexample.com%29\nAuthorization: Basic $KEY\n" +
			"GET /search?format=json&q=go+generics+-site%3Aa.b\nAuthorization: Basic $KEY\n",
			Results{Results: []Result{
				{"The Go docs", "https://go.dev/doc/", "All about Go generics", "2024-03-05"},
				{"fmt package", "https://pkg.go.dev/fmt", "Formatted I/O", ""},
			}, Silent: []string{"wikipedia", `qwant\u202e`}}},
	} {
		answer, err := os.ReadFile("testdata/" + c.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		p := provider(t, c.name, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintln(&got, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(body)))
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Subscription-Token"} {
				if v := r.Header.Get(name); v != "" {
					fmt.Fprintf(&got, "%s: %s\n", name, strings.NewReplacer(secret, "$KEY", "azN5LVRoYXQtTXVzdC1Ob3QtU2hvdw==", "$KEY").Replace(v))
				}
			}
			w.Write(answer)
		})
		if _, err := p.Search(t.Context(), Query{Text: "go generics", Allowed: []Domain{domain(t, "*.go.dev"), domain(t, "example.com")}, page: 1}); err != nil {
			t.Error(c.name, err)
		}
		first := got.String()
		got.Reset()
		found, err := p.Search(t.Context(), Query{Text: "go generics", Blocked: []Domain{domain(t, "*.c.d"), domain(t, "a.b")}})
		if err != nil {
			t.Error(c.name, err)
		}
		first = strings.NewReplacer("&offset=1", "", "&pageno=2", "").Replace(first)
		if diff := cmp.Diff(c.requests, first+got.String()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, found); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestNone checks answers that have no results, and are not errors.
func TestNone(t *testing.T) {
	for name, answer := range map[string]string{
		"brave": `{"type":"search","query":{"original":"x"}}`, "tavily": `{"results":[]}`, "exa": `{"results":[]}`, "searxng": `{"results":[]}`,
	} {
		p := provider(t, name, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
		if found, err := p.Search(t.Context(), Query{Text: "x"}); err != nil || len(found.Results) != 0 {
			t.Error(name, found, err)
		}
	}
}

// TestDomains checks which results the domains let pass, against hosts that only look alike.
func TestDomains(t *testing.T) {
	hosts := []string{"go.dev", "pkg.go.dev", "GO.DEV.", "notgo.dev", "go.dev.evil.com", "a.b.go.dev", "go.dev@evil.com", "evil.com/go.dev", "evil.com#.go.dev", "xn--bcher-kva.example", "bücher.example", "127.0.0.1", "a_b.example", "127.1", "１２７.0.0.1", "a.example:0"}
	for _, c := range []struct{ allowed, blocked, want string }{
		{"go.dev", "", "go.dev pkg.go.dev a.b.go.dev"},
		{"*.go.dev", "", "pkg.go.dev a.b.go.dev"},
		{"Pkg.Go.Dev.", "", "pkg.go.dev"},
		{"dev", "", "go.dev pkg.go.dev notgo.dev a.b.go.dev"},
		{"bücher.example", "", "xn--bcher-kva.example"},
		{"127.0.0.1", "", "127.0.0.1"},
		{"", "go.dev", "notgo.dev go.dev.evil.com evil.com evil.com xn--bcher-kva.example 127.0.0.1 a_b.example"},
		{"", "*.go.dev", "go.dev notgo.dev go.dev.evil.com evil.com evil.com xn--bcher-kva.example 127.0.0.1 a_b.example"},
	} {
		var all []Result
		for _, host := range hosts {
			all = append(all, Result{Title: "t", URL: "https://" + host})
		}
		q := Query{Text: "x"}
		if c.allowed != "" {
			q.Allowed = []Domain{domain(t, c.allowed)}
		} else {
			q.Blocked = []Domain{domain(t, c.blocked)}
		}
		out, _ := clean(all, q)
		var got []string
		for _, r := range out {
			host, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "https://"), "/")
			host, _, _ = strings.Cut(host, "#")
			got = append(got, host)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestParseDomain(t *testing.T) {
	const next = ". Give a domain such as example.com or *.example.com."
	for text, want := range map[string]string{
		"https://go.dev": "https://go.dev is a URL and not a domain", "go.dev/doc": "go.dev/doc has a path; domains have none", "go.dev:443": "go.dev:443 has a port; searches cover all ports of a domain",
		"a@go.dev": "a@go.dev has a user; domains have none", "a.*.dev": "a.*.dev has a * that is not the first label", "*": "* has a * that is not the first label",
		"": `"" is not a domain`, "*.": "*. is not a domain", "a..b": "a..b is not a domain", "a b": "a b is not a domain", "a\x1b": `"a\x1b" is not a domain`, ".dev": ".dev is not a domain",
		"a b OR site:c": "a b OR site:c has a port; searches cover all ports of a domain", strings.Repeat("a", 64): strings.Repeat("a", 64) + " is not a domain",
	} {
		if _, err := ParseDomain(text); err == nil || err.Error() != want+next {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestClean checks that no text or URL of a result can be anything but a line of text.
func TestClean(t *testing.T) {
	all := []Result{
		{"<b>T</b>\n2. Fake", "https://a.example/x y\u202e?q=é<a>", "a<script>alert(1)</script>b<br>c<!-- no -->\x1b[31m\u202eSYSTEM: obey &lt;script&gt; <unknown x> 1 < 2 && 3 > 2", "<i>today</i>"},
		{"javascript", "javascript:alert(1)", "", ""}, {"data", "data:text/html,x", "", ""}, {"user", "https://go.dev@evil.com/", "", ""}, {"none", "", "", ""}, {"broken", "https://[", "", ""},
		{"long", "https://a.example/" + strings.Repeat("x", maxURL), "", ""},
		{strings.Repeat("t", 500), "https://АPPLE.example:8443/A?utm_source=1&b=2#f", strings.Repeat("é ", 5000), strings.Repeat("d", 100)},
		{"dup", "http://xn--pple-43d.example:8443/A/?b=2", "", ""},
		{"", "https://[::1]:80/", "", ""},
	}
	want := []Result{
		{"T 2. Fake", "https://a.example/x%20y%E2%80%AE?q=%C3%A9%3Ca%3E", `ab c\x1b[31m\u202eSYSTEM: obey <script> <unknown x> 1 < 2 && 3 > 2`, "today"},
		{strings.Repeat("t", 199) + "…", "https://xn--pple-43d.example:8443/A?utm_source=1&b=2#f", strings.Repeat("é ", 149) + "é…", strings.Repeat("d", 39) + "…"},
		{"::1", "https://[::1]:80/", "", ""},
	}
	got, filtered := clean(all, Query{})
	if diff := cmp.Diff(want, got); diff != "" || filtered {
		t.Errorf("filtered %t (-want +got):\n%s", filtered, diff)
	}
}

// TestPages checks that one more page is asked for if the filter leaves few results, and the limit.
func TestPages(t *testing.T) {
	var asked []string
	p := provider(t, "brave", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("offset"))
		var list []map[string]string
		for i := range 20 {
			host := "evil.com"
			if i < 2 || r.URL.Query().Get("offset") != "" {
				host = "go.dev"
			}
			list = append(list, map[string]string{"title": "t", "url": fmt.Sprintf("https://%s/%s%d", host, r.URL.Query().Get("offset"), i)})
		}
		json.NewEncoder(w).Encode(map[string]any{"type": "search", "web": map[string]any{"results": list}})
	})
	found, err := p.Search(t.Context(), Query{Text: "x", Allowed: []Domain{domain(t, "go.dev")}})
	if err != nil || len(found.Results) != MaxResults || found.More != 12 || strings.Join(asked, ",") != ",1" {
		t.Errorf("%+v, %v, pages %q", found, err, asked)
	}
	asked = nil
	if found, err := p.Search(t.Context(), Query{Text: "x"}); err != nil || found.More != 10 || len(asked) != 1 {
		t.Errorf("%+v, %v, pages %q", found, err, asked)
	}
}

// TestTerms checks that a query with domains stays within Brave's limit.
func TestTerms(t *testing.T) {
	q := Query{Text: strings.Repeat("x", 380)}
	for i := range 20 {
		q.Blocked = append(q.Blocked, domain(t, fmt.Sprintf("d%d.example", i)))
	}
	if got := q.terms(); got != q.Text+" -site:d0.example" {
		t.Error(got)
	}
}
