package identity

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/identity/identitytest"
)

// TestKeys rotates the keys of an issuer and stops it, and checks which tokens hold and how often the
// keys are fetched.
func TestKeys(t *testing.T) {
	i := identitytest.New(t)
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		v := NewVerifier([]string{i.URL}, []string{identitytest.Audience}, i.Client(), slog.New(slog.NewTextHandler(&log, nil)))
		token := func(kid string) string { return i.With(map[string]any{"kid": kid, "alg": kid[:5]}, nil) }
		check := func(step, kid string, want problem, fetches int64) {
			t.Helper()
			if _, got := v.Verify(t.Context(), token(kid)); got != want || i.Fetches.Load() != fetches {
				t.Errorf("%s: %q after %d fetches, want %q after %d", step, got, i.Fetches.Load(), want, fetches)
			}
		}
		// At the start the issuer cannot be reached: its description is asked for, not its keys.
		i.Down.Store(true)
		go v.Follow(t.Context())
		synctest.Wait()
		check("down at the start", "ES256", noKeys, 0)
		if v.Ready() == nil || !strings.Contains(log.String(), "could not be read") {
			t.Errorf("ready without keys; the log is %s", log.String())
		}
		i.Down.Store(false)
		check("up again, and the latest fetch was just now", "ES256", noKeys, 0)
		time.Sleep(fetchEvery)
		synctest.Wait()
		check("the next fetch", "ES256", "", 1)
		if err := v.Ready(); err != nil {
			t.Error(err)
		}
		time.Sleep(fetchEvery)
		old := token("ES256")
		for range 2 { // the second time from memory
			if p, got := v.Verify(t.Context(), old); got != "" || p.ID != i.URL+":anna" {
				t.Errorf("%+v %q", p, got)
			}
		}
		i.Rotate("ES256b")
		check("a new key", "ES256b", "", 2)
		if _, got := v.Verify(t.Context(), old); got != badKey {
			t.Errorf("a withdrawn key: %q", got)
		}
		for n := range 100 {
			i.Rotate(fmt.Sprint("ES256-", n))
			check("a newer key within a minute", fmt.Sprint("ES256-", n), badKey, 2)
		}
		time.Sleep(renewEvery + fetchEvery)
		synctest.Wait()
		check("renewed without a request", "ES256-99", "", 3)

		i.Down.Store(true)
		time.Sleep(maxAge - time.Hour)
		synctest.Wait()
		fetches := i.Fetches.Load()
		log.Reset()
		check("down for 23 hours", "ES256-99", "", fetches)
		if _, got := v.Verify(t.Context(), i.With(map[string]any{"kid": "new"}, nil)); got != badKey || v.Ready() != nil {
			t.Errorf("a new key while the issuer is down: %q", got)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if _, got := v.Verify(t.Context(), token("ES256-99")); got != noKeys || v.Ready() == nil {
			t.Errorf("down for more than 24 hours: %q", got)
		}
		if log.Len() > 0 {
			t.Errorf("the same failure again in the log: %s", log.String())
		}
		i.Down.Store(false)
		time.Sleep(fetchEvery)
		synctest.Wait()
		if _, got := v.Verify(t.Context(), token("ES256-99")); got != "" || !strings.Contains(log.String(), "were read") {
			t.Errorf("up again: %q", got)
		}
	})
}

// TestOneFetch checks that requests that arrive during a fetch wait for it and make no other.
func TestOneFetch(t *testing.T) {
	i := identitytest.New(t)
	synctest.Test(t, func(t *testing.T) {
		client, open := i.Client(), make(chan struct{})
		client.Transport = slow{client.Transport, open}
		v := NewVerifier([]string{i.URL}, []string{identitytest.Audience}, client, slog.New(slog.DiscardHandler))
		got := make(chan problem)
		const requests = 50
		for n := range requests {
			go func() {
				_, p := v.Verify(t.Context(), i.Token(map[string]any{"jti": n}))
				got <- p
			}()
		}
		synctest.Wait() // all of them wait
		gone, leave := context.WithCancel(t.Context())
		go func() {
			_, p := v.Verify(gone, i.Token(nil))
			got <- p
		}()
		synctest.Wait()
		leave()
		if p := <-got; p != noKeys {
			t.Errorf("a client that is gone: %q", p)
		}
		close(open)
		for range requests {
			if p := <-got; p != "" {
				t.Error(p)
			}
		}
		if n := i.Fetches.Load(); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

// slow sends requests once open is closed.
type slow struct {
	to   http.RoundTripper
	open chan struct{}
}

// RoundTrip returns the answer of the other transport.
func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	<-s.open
	return s.to.RoundTrip(r)
}

// TestUnreachable checks the answer while there are no keys.
func TestUnreachable(t *testing.T) {
	i := identitytest.New(t)
	i.Down.Store(true)
	u := &Users{Issuers: NewVerifier([]string{i.URL}, []string{"a"}, i.Client(), slog.New(slog.DiscardHandler)), Resource: &Resource{URL: "https://a/mcp"}}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+i.Token(nil))
	if _, got := u.Authenticate(r); got == nil || got.Status != http.StatusServiceUnavailable || got.Retry != 60 || got.Challenge != "" {
		t.Errorf("%+v", got)
	}
}

// TestDiscovery finds the keys of issuers of several kinds.
func TestDiscovery(t *testing.T) {
	key := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	for _, c := range []struct {
		issuer string
		pages  map[string]string // by URL; "NNN URL" has another status
		want   string            // part of the error
	}{
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a","jwks_uri":"https://b/k"}`, "https://b/k": key}, ""},
		{"https://a/", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a/","jwks_uri":"https://b/k"}`, "https://b/k": key}, ""},
		{"https://a/realms/x", map[string]string{"https://a/realms/x/.well-known/openid-configuration": `{"issuer":"https://a/realms/x","jwks_uri":"https://b/k"}`, "https://b/k": key}, ""},
		{"https://a/x", map[string]string{"https://a/.well-known/oauth-authorization-server/x": `{"issuer":"https://a/x","jwks_uri":"https://b/k"}`, "https://b/k": key}, ""},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a/","jwks_uri":"https://b/k"}`, "https://b/k": key}, `the issuer calls itself "https://a/"; give exactly this to --oauth-issuer`},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a","jwks_uri":"http://b/k"}`, "http://b/k": key}, "use https"},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a"}`}, "begins with https"},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `<html>`}, "not valid JSON"},
		{"https://a", map[string]string{}, "404"},
		{"https://a", map[string]string{"302 https://a/.well-known/openid-configuration": "https://b/x", "https://b/x": `{"issuer":"https://a","jwks_uri":"https://b/k"}`, "https://b/k": key}, "302"},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a","jwks_uri":"https://b/k"}`, "https://b/k": `{"keys":[]}`}, "no key with a kid"},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a","jwks_uri":"https://b/k"}`, "https://b/k": `[]`}, "not valid JSON"},
		{"https://a", map[string]string{"https://a/.well-known/openid-configuration": `{"issuer":"https://a","jwks_uri":"https://b/k"}`, "https://b/k": key + strings.Repeat(" ", maxAnswer)}, "more than 1048576 bytes"},
	} {
		client := NewClient()
		client.Transport = pages(c.pages)
		v := NewVerifier([]string{c.issuer}, nil, client, slog.New(slog.DiscardHandler))
		set, err := v.issuers[c.issuer].read(t.Context())
		switch {
		case c.want == "" && (err != nil || !set.kids["k"]):
			t.Errorf("%s %v: %v", c.issuer, c.pages, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %v: %v, want %s", c.issuer, c.pages, err, c.want)
		}
	}
}

// pages answers with texts by URL.
type pages map[string]string

// RoundTrip returns the text of a URL.
func (p pages) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch u := r.URL.String(); {
	case p[u] != "":
		fmt.Fprint(w, p[u])
	case p["302 "+u] != "":
		http.Redirect(w, r, p["302 "+u], http.StatusFound)
	default:
		http.NotFound(w, r)
	}
	return w.Result(), nil
}

// TestCheckURL checks which URLs of issuers are accepted.
func TestCheckURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://login.example.com": "", "https://a/realms/x": "", "https://a:8443/": "", "http://127.0.0.1:8080": "", "http://localhost/x": "", "http://[::1]:1": "",
		"http://login.example.com": "use https, or http on a loopback address", "http://127.0.0.1.evil.example": "use https, or http on a loopback address",
		"": "begins with https://", "login.example.com": "begins with https://", "ftp://a": "begins with https://", "https://": "begins with https://", "https:a": "begins with https://",
		"https://u:p@a": "without user", "https://a?x=1": "without user", "https://a#x": "without user", "https://a?": "without user", "https://a/\"x": "without user", "https://a b": "begins with https://",
	} {
		err := CheckURL(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFileName checks that principals do not share folders.
func TestFileName(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"", "http", "token:anna", "https://a:b", "https://a:B", "https://a:b.1", "https://a/b", strings.Repeat("https://a/", 30) + ":a", strings.Repeat("https://a/", 30) + ":b"} {
		name := FileName(id)
		if other, twice := seen[name]; twice || strings.ContainsAny(name, "./") || len(name) > 50 {
			t.Errorf("%q and %q: %q", id, other, name)
		}
		seen[name] = id
	}
}
