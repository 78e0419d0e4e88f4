package search

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/web/endpoint"
)

// TestErrors checks the text of each error. The key is in each answer of the provider, and in none
// of the texts.
func TestErrors(t *testing.T) {
	const checkURL = ". Ask the user to check webSearch.url in the settings."
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.Header().Set("Location", "/elsewhere?key="+secret)
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error":"the key %s is wrong","results":[]}`, secret)
		}
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
	}
	for _, c := range []struct {
		provider string
		handler  http.HandlerFunc
		want     string
	}{
		{"brave", status(401), "brave refused the key (401 Unauthorized). Ask the user to check the key in the environment variable KEY."},
		{"exa", status(403), "exa refused the key (403 Forbidden). Ask the user to check the key in the environment variable KEY."},
		{"searxng", status(403), "searxng does not offer JSON (403 Forbidden). Ask the user to add json to search.formats in the settings.yml of the instance."},
		{"searxng", status(401), "searxng refused the user name and password (401 Unauthorized). Ask the user to put user:password into the variable or file that webSearch names."},
		{"exa", status(402), "exa has no credit left for this key (402 Payment Required). Ask the user to renew the plan, or go on without searching."},
		{"tavily", status(432), "tavily has no credit left for this key (432). Ask the user to renew the plan, or go on without searching."},
		{"brave", status(429), "brave gets too many requests (429 Too Many Requests) and takes the next in 1m0s. Try again later, or go on without searching."},
		{"brave", status(503), "brave is not available (503 Service Unavailable, 1 attempt). Try again later, or go on without searching."},
		{"brave", status(422), "brave does not accept the query (422 Unprocessable Entity). Use a shorter query and fewer domains."},
		{"brave", status(404), "brave answered 404 Not Found" + checkURL},
		{"brave", status(204), "brave gave no results and no error (204 No Content)" + checkURL},
		{"brave", status(302), "brave redirects to another URL (302 Found), which is not followed" + checkURL},
		{"searxng", text("<!DOCTYPE html><title>Are you a robot? " + secret + "</title>"), "searxng answered with a page instead of JSON, perhaps to check for bots or to ask for a login" + checkURL},
		{"tavily", text(""), "tavily gave an empty answer" + checkURL},
		{"tavily", text(`{"results":[{"url":"https://a.b"`), "tavily gave an answer that ends too early, after 32 bytes. Search again."},
		{"tavily", text("OK " + secret), "tavily answered with something other than JSON" + checkURL},
		{"tavily", text(`{"detail":"` + secret + `"}`), "tavily answered with JSON that is no answer to a search: it has no results" + checkURL},
		{"tavily", text(`{"results":"` + secret + `"}`), "tavily answered with JSON that is no answer to a search: a field has another type" + checkURL},
		{"exa", text(`{}`), "exa answered with JSON that is no answer to a search: it has no results" + checkURL},
		{"searxng", text(`{"results":null}`), "searxng answered with JSON that is no answer to a search: it has no results" + checkURL},
		{"brave", text(`{"type":"ErrorResponse"}`), `brave answered with JSON that is no answer to a search: it has no type "search"` + checkURL},
		{"brave", func(w http.ResponseWriter, _ *http.Request) {
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for range maxBody>>20 + 1 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "brave answered with more than 10 MB" + checkURL},
		{"brave", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, maxBody+1))
			_ = z.Close()
		}, "brave answered with more than 10 MB" + checkURL},
		{"brave", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"type"`)
		}, "brave gave an answer that ends too early, after 7 bytes. Search again."},
		{"brave", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "brave cannot be reached: EOF. Ask the user to check the network and webSearch.url in the settings."},
	} {
		p := provider(t, c.provider, c.handler)
		_, err := p.Search(t.Context(), Query{Text: "x"})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.provider, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the key shows: %v", err)
		}
	}
}

// TestTLS checks that a certificate that is not trusted is an error.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, err := New(Config{Provider: "searxng", URL: server.URL}).Search(t.Context(), Query{Text: "x"})
	want := regexp.MustCompile(`^searxng cannot be reached: tls: failed to verify certificate: x509: .*\. Ask the user to check the network and webSearch\.url in the settings\.$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Error(err)
	}
}

// transport answers requests without a network, so that time can be faked.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRetries checks how long the client waits for a busy provider.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		after    string
		took     time.Duration
		want     string // "": results
	}{
		{[]int{200}, "", 0, ""},
		{[]int{429, 503, 200}, "", 3 * time.Second, ""},
		{[]int{429, 200}, "10", 10 * time.Second, ""},
		{[]int{429, 200}, "Sat, 01 Jan 2000 00:00:05 GMT", 5 * time.Second, ""},
		{[]int{429}, "11", 0, "exa gets too many requests (429 Too Many Requests) and takes the next in 11s. Try again later, or go on without searching."},
		{[]int{429}, "99999999999999", 0, "exa gets too many requests (429 Too Many Requests) and takes the next in 24h0m0s. Try again later, or go on without searching."},
		{[]int{429}, "", 3 * time.Second, "exa gets too many requests (429 Too Many Requests, 3 attempts). Wait a minute, then search again."},
		{[]int{500, 502, 503}, "", 3 * time.Second, "exa is not available (503 Service Unavailable, 3 attempts). Try again later, or go on without searching."},
		{[]int{401, 200}, "", 0, "exa refused the key (401 Unauthorized). Ask the user to check the key in the environment variable KEY."},
		{[]int{0}, "", timeout, "exa did not answer within 30s. Search again, or go on without searching."},
		{[]int{-1}, "", timeout, "exa did not answer within 30s. Search again, or go on without searching."},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSearcher(Config{Provider: "exa", Key: endpoint.Key{Env: "KEY", Getenv: func(string) string { return secret }}})
			made := 0
			s.client.http.Transport = transport(func(r *http.Request) (*http.Response, error) {
				status := c.statuses[min(made, len(c.statuses)-1)]
				made++
				if r.URL.Host != "api.exa.ai" {
					t.Error(r.URL)
				}
				var body io.Reader = strings.NewReader(`{"results":[]}`)
				switch status {
				case 0: // no answer
					<-r.Context().Done()
					return nil, r.Context().Err()
				case -1: // an answer without an end
					status, body = 200, slow{r.Context()}
				}
				return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {c.after}}, Body: io.NopCloser(body)}, nil
			})
			begin := time.Now()
			_, err := s.Search(t.Context(), Query{Text: "x"})
			if got := fmt.Sprint(err); time.Since(begin) != c.took || err == nil != (c.want == "") || err != nil && got != c.want {
				t.Errorf("%v %s: %s after %v", c.statuses, c.after, got, time.Since(begin))
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			own := errors.New("the client gave up")
			cancel(own)
			if _, err := s.Search(ctx, Query{Text: "x"}); err != own {
				t.Errorf("cancelled: %v", err)
			}
		})
	}
}

// slow is a body that yields a byte each second until its context ends.
type slow struct{ ctx context.Context }

func (s slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

func TestCheckURL(t *testing.T) {
	for _, c := range []struct{ provider, url, want string }{
		{"brave", "https://gateway.example.com/brave/", ""}, {"brave", "http://127.0.0.1:8080", ""}, {"brave", "http://[::1]", ""}, {"brave", "http://localhost:1", ""},
		{"searxng", "http://192.168.1.2", ""}, {"searxng", "http://10.0.0.1:8080/searx", ""}, {"searxng", "http://search.lan", ""}, {"searxng", "http://[fd00::1]", ""},
		{"brave", "http://192.168.1.2", "192.168.1.2 is not this machine; use https, since the key is sent there"},
		{"brave", "http://api.search.brave.com", "api.search.brave.com is not this machine; use https, since the key is sent there"},
		{"searxng", "http://1.2.3.4", "1.2.3.4 is not in a private network; use https"},
		{"searxng", "http://169.254.169.254", "169.254.169.254 is not in a private network; use https"},
		{"searxng", "ftp://a", "want a URL such as https://search.example.com, have ftp://a"},
		{"searxng", "a.example", "want a URL such as https://search.example.com, have a.example"},
		{"searxng", "user:pass@a.example", "want a URL such as https://search.example.com, have …@a.example"},
		{"searxng", "https://user:pass@a.example", "it has a user or password; name a variable or file that has them, with keyEnv or keyFile"},
		{"searxng", "https://a.example/?key=x", "it has a query or fragment; give the URL without it"},
		{"searxng", "https://a.example:0", "https://a.example:0 has no valid host or port"},
		{"searxng", "http://127.1", "http://127.1 has no valid host or port"},
	} {
		if got := CheckURL(c.provider, c.url); fmt.Sprint(got) != c.want && (got != nil || c.want != "") {
			t.Errorf("%s %s: %v", c.provider, c.url, got)
		}
	}
}

// TestNear checks the address of a connection without encryption, since a name can resolve to any.
func TestNear(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:80": "near", "[::1]:80": "near", "[::ffff:127.0.0.1]:80": "near", "10.1.2.3:80": "private", "[fd00::1]:80": "private", "100.64.0.1:80": "private",
		"169.254.169.254:80": "far", "8.8.8.8:80": "far", "0.0.0.0:80": "far", "[fe80::1%eth0]:80": "far", "x": "far",
	} {
		got := "far"
		if checkNear(address, true) == nil {
			got = "private"
		}
		if checkNear(address, false) == nil {
			got = "near"
		}
		if got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
	if err := checkNear("8.8.8.8:80", true); err.Error() != "http would go to the address 8.8.8.8:80, which is not near; use https" {
		t.Error(err)
	}
}

// TestPlain checks that a request without encryption goes to no other address, and to no proxy.
func TestPlain(t *testing.T) {
	for _, base := range []string{"http://192.0.2.1", "HTTP://192.0.2.1"} {
		p := newSearcher(Config{Provider: "searxng", URL: base})
		_, err := p.Search(t.Context(), Query{Text: "x"})
		if err == nil || !strings.Contains(err.Error(), "http would go to the address 192.0.2.1:80, which is not near; use https") {
			t.Errorf("%s: %v", base, err)
		}
		if newTransport(base, true).Proxy != nil {
			t.Errorf("%s: a proxy gets the request", base)
		}
	}
}

// TestKey checks that a key comes from a variable, or from a file that only the user can read.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) endpoint.Key {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return endpoint.Key{File: path}
	}
	variable := func(value string) endpoint.Key {
		return endpoint.Key{Env: "KEY", Getenv: func(string) string { return value }}
	}
	cases := []struct {
		key         endpoint.Key
		want, error string
	}{
		{endpoint.Key{}, "", ""},
		{variable(secret), secret, ""},
		{variable(""), "", "the environment variable KEY is not set"},
		{variable("  "), "", "the environment variable KEY is empty"},
		{variable("a\nX-Other: b"), "", "the environment variable KEY has characters that no key has"},
		{file("good", secret+"\n", 0o600), secret, ""},
		{file("empty", "\n", 0o600), "", "the file $DIR/empty is empty"},
		{file("large", strings.Repeat("x", 4096+1), 0o600), "", "the file $DIR/large is larger than 4096 bytes, which no key is"},
		{endpoint.Key{File: filepath.Join(dir, "none")}, "", "the file $DIR/none cannot be read: no such file or directory"},
		{endpoint.Key{File: dir}, "", "$DIR is not a regular file"},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, struct {
			key         endpoint.Key
			want, error string
		}{file("open", secret, 0o640), "", "other users can read or write the file $DIR/open (mode 0640); run chmod 600 $DIR/open"})
	} else {
		cases = slices.DeleteFunc(cases, func(c struct {
			key         endpoint.Key
			want, error string
		}) bool {
			return strings.HasSuffix(c.error, "directory")
		})
	}
	for _, c := range cases {
		got, err := c.key.Read()
		text := ""
		if err != nil {
			text = strings.ReplaceAll(filepath.ToSlash(err.Error()), filepath.ToSlash(dir), "$DIR")
		}
		if got != c.want || text != c.error {
			t.Errorf("%+v: %q, %s", c.key, got, text)
		}
	}
	_, err := New(Config{Provider: "exa", Key: variable("")}).Search(t.Context(), Query{Text: "x"})
	if err == nil || err.Error() != "exa has no key: the environment variable KEY is not set. Ask the user to correct that." {
		t.Error(err)
	}
}
