package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/identity/identitytest"
)

const metadataURL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"

// oauth returns the settings of a server whose users come from an issuer, from the tokens of anna
// and bob, and from a proxy that signs X-Assertion.
func oauth(t *testing.T, i *identitytest.Issuer) HTTP {
	t.Helper()
	u := &identity.Users{
		Tokens:   tokens(t),
		Issuers:  identity.NewVerifier([]string{i.URL}, []string{identitytest.Audience, "other-id"}, identity.NewClient(), slog.New(slog.DiscardHandler)),
		Resource: &identity.Resource{URL: identitytest.Audience, Issuers: []string{i.URL}},
		Header:   "X-Assertion",
		Proxy:    identity.NewProxyVerifier(i.URL, i.URL+"/jwks", []string{"proxy-id"}, identity.NewClient(), slog.New(slog.DiscardHandler)),
	}
	return HTTP{Users: u, Resource: u.Resource, Ready: u.Issuers.Ready, AllowHosts: []string{"mcp.example.com"}}
}

// asked sends a request to a guard, from an address of its own, and returns its answer and the
// principal for which the request is handled.
type asked struct {
	h     HTTP
	count int
}

func (a *asked) do(r *http.Request) (w *httptest.ResponseRecorder, by identity.Principal, leaked bool) {
	a.count++
	g := newGuard(a.h, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, time.Minute, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by = identity.From(r.Context())
		leaked = r.Header.Get("Authorization") != "" || r.Header.Get("X-Assertion") != ""
	}))
	r.RemoteAddr = fmt.Sprintf("192.0.2.1%d:1", a.count)
	w = httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w, by, leaked
}

// TestTokens checks what the server answers to tokens, with status and header.
func TestTokens(t *testing.T) {
	weak := map[string]any{"kty": "RSA", "kid": "weak", "n": strings.Repeat("w", 171), "e": "AQAB"}
	secret := map[string]any{"kty": "oct", "kid": "secret", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U"}
	forEnc, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	enc := identitytest.Public(forEnc.Public())
	enc["kid"], enc["use"] = "enc", "enc"
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	other384 := identitytest.Public(p384.Public())
	other384["kid"] = "ES384"
	onlyRS := identitytest.Public(identitytest.New(t).Key("RS256").Public())
	onlyRS["kid"], onlyRS["alg"] = "rs-only", "RS256"
	i := identitytest.New(t, weak, secret, enc, other384, onlyRS, map[string]any{"kty": "AKP", "kid": "pq"}, "no key", map[string]any{"kty": "EC", "kid": "bad", "crv": "P-256", "x": "AA", "y": "AA"})
	foreign := identitytest.New(t)
	type m = map[string]any
	now := time.Now().Unix()
	token := func(header, claims m) []string { return []string{"Authorization: Bearer " + i.With(header, claims)} }
	claim := func(name string, value any) []string { return token(nil, m{name: value}) }
	raw := func(header, claims string) []string {
		return []string{"Authorization: Bearer " + identitytest.Sign("ES256", i.Key("ES256"), []byte(header), []byte(claims))}
	}
	text := func(c m) string { data, _ := json.Marshal(i.Claims(c)); return string(data) }
	bearer := func(token string) []string { return []string{"Authorization: Bearer " + token} }
	assert := func(header, claims m) []string { return []string{"X-Assertion: " + i.With(header, claims)} }
	good := i.Token(nil)
	part := strings.Split(good, ".")
	public, _ := x509.MarshalPKIXPublicKey(i.Key("RS256").Public())
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	raw256 := func(alg string, key any) []string {
		h, _ := json.Marshal(m{"alg": alg, "kid": "RS256", "typ": "at+jwt"})
		return bearer(identitytest.Sign(alg, key, h, []byte(text(nil))))
	}
	padded := base64.URLEncoding.EncodeToString([]byte(text(m{"sub": "ann"})))
	for len(padded)%4 == 0 && !strings.HasSuffix(padded, "=") {
		padded = base64.URLEncoding.EncodeToString([]byte(text(m{"sub": "ann", "x": strings.Repeat("x", len(padded)%3+1)})))
	}

	const none = `Bearer resource_metadata="` + metadataURL + `", scope="toolset:read toolset:write"`
	const (
		notJWT    = "the token is no valid JWT"
		alg       = "the algorithm of the token is none of RS256, PS256, ES256 and EdDSA"
		header    = "the header of the token has crit, jwk, jku, x5u or x5c, which are not accepted"
		notAccess = "the token is not an access token"
		issuer    = "the issuer of the token is not one of this server"
		badKey    = "the token names no key of its issuer that fits"
		signature = "the signature of the token is wrong"
		times     = "the token has no valid exp, or iat or nbf are not valid"
		expired   = "the token has expired"
		early     = "the token is not valid yet"
		lasting   = "the token is valid for more than 24 hours"
		audience  = "the token is for another audience"
		subject   = "the token has no valid sub"
		bound     = "the token is bound to a key of its client (cnf), which is not supported"
		scope     = "the scope of the token is not valid"
		unknown   = "the token is not known"
	)
	ask := &asked{h: oauth(t, i)}
	for _, c := range []struct {
		name    string
		headers []string
		want    string // principal, status, or reason of a 401
	}{
		{"no token", nil, "401"},
		{"another scheme", []string{"Authorization: Basic YTpi"}, "401"},
		{"no scheme", []string{"Authorization: " + good}, "401"},
		{"empty", bearer(""), "401"},
		{"two headers", append(bearer(good), "+Authorization: Bearer "+good), "400"},
		{"two headers, one good", append(bearer(good), "+Authorization: Basic x"), "400"},
		{"in the query", []string{"?access_token=" + good}, "400"},
		{"in the query also", append(bearer(good), "?x=1&access_token=x"), "400"},

		{"good", bearer(good), "anna"},
		{"lower-case scheme", []string{"Authorization: bearer " + good}, "anna"},
		{"two spaces", []string{"Authorization: Bearer  " + good}, notJWT},
		{"RS256", token(m{"alg": "RS256", "kid": "RS256"}, nil), "anna"},
		{"PS256", token(m{"alg": "PS256", "kid": "PS256"}, nil), "anna"},
		{"EdDSA", token(m{"alg": "EdDSA", "kid": "EdDSA"}, nil), "anna"},
		{"typ JWT", token(m{"typ": "JWT"}, nil), "anna"},
		{"typ with application/", token(m{"typ": "application/AT+jwt"}, nil), "anna"},
		{"no typ", token(m{"typ": nil}, nil), "anna"},
		{"list of audiences", claim("aud", []string{"a", identitytest.Audience}), "anna"},
		{"second audience", claim("aud", "other-id"), "anna"},
		{"no iat", claim("iat", nil), "anna"},
		{"expired within the leeway", claim("exp", now-30), "anna"},
		{"issued ahead within the leeway", claim("iat", now+30), "anna"},
		{"24 hours", token(nil, m{"exp": now + 86400}), "anna"},
		{"16 KiB", bearer(sized(i, 16<<10)), "anna"},
		{"scopes", claim("scope", "openid toolset:read toolset:write"), "anna"},
		{"no scope of ours", claim("scope", "openid"), "anna"}, // each request says what it lacks
		{"scp list", claim("scp", []string{"toolset:write"}), "anna"},
		{"claims of other case", raw(`{"alg":"ES256","kid":"ES256","ALG":"none"}`, strings.TrimSuffix(text(nil), "}")+`,"EXP":1,"Sub":"bob"}`), "anna"},

		{"16 KiB and 1", bearer(sized(i, 16<<10+1)), "the token has more than 16384 bytes"},
		{"four parts", bearer(good + ".x"), unknown},
		{"two parts", bearer(part[0] + "." + part[1]), unknown},
		{"no signature", bearer(part[0] + "." + part[1] + "."), notJWT},
		{"only dots", bearer(".."), notJWT},
		{"padding", bearer(part[0] + "=." + part[1] + "." + part[2]), notJWT},
		{"padded claims", bearer(part[0] + "." + padded + "." + part[2]), notJWT},
		{"standard base64", bearer(part[0] + "+/." + part[1] + "." + part[2]), notJWT},
		{"loose last bits", bearer(part[0] + "." + part[1] + "." + loose(part[2])), notJWT},
		{"line break", bearer(part[0] + ".a%0a" + part[1] + "." + part[2]), notJWT},
		{"header no object", raw(`[]`, text(nil)), notJWT},
		{"claims no object", raw(`{"alg":"ES256","kid":"ES256"}`, `"x"`), notJWT},
		{"claims null", raw(`{"alg":"ES256","kid":"ES256"}`, `null`), notJWT},
		{"key twice in the header", raw(`{"alg":"ES256","kid":"ES256","alg":"ES256"}`, text(nil)), notJWT},
		{"sub twice", raw(`{"alg":"ES256","kid":"ES256"}`, strings.TrimSuffix(text(nil), "}")+`,"sub":"bob"}`), notJWT},
		{"deep", raw(`{"alg":"ES256","kid":"ES256","x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`, text(nil)), notJWT},
		{"not UTF-8", raw("{\"alg\":\"ES256\",\"kid\":\"ES256\"}", strings.TrimSuffix(text(nil), "}")+",\"x\":\"\xff\"}"), notJWT},

		{"none", raw256("none", nil), alg},
		{"None", raw256("None", nil), alg},
		{"HS256 with the public key", raw256("HS256", block), alg},
		{"HS256 with a key of the set", token(m{"alg": "HS256", "kid": "secret"}, nil), alg},
		{"RS512", raw256("RS512", i.Key("RS256")), alg},
		{"ES384", token(m{"alg": "ES384", "kid": "ES384"}, nil), alg},
		{"alg a number", token(m{"alg": 1}, nil), alg},
		{"no alg", token(m{"alg": nil}, nil), alg},
		{"crit", token(m{"crit": []string{"exp"}}, nil), header},
		{"own jwk", token(m{"jwk": identitytest.Public(i.Key("ES256").Public())}, nil), header},
		{"own jku", token(m{"jku": i.URL + "/jwks"}, nil), header},
		{"own x5u", token(m{"x5u": i.URL}, nil), header},
		{"own x5c", token(m{"x5c": []string{"x"}}, nil), header},
		{"typ of a logout token", token(m{"typ": "logout+jwt"}, nil), notAccess},
		{"typ of a proof", token(m{"typ": "dpop+jwt"}, nil), notAccess},
		{"typ a number", token(m{"typ": 1}, nil), notAccess},
		{"ID token by at_hash", claim("at_hash", "x"), notAccess},
		{"ID token of Keycloak", claim("typ", "ID"), notAccess},
		{"refresh token of Keycloak", claim("typ", "Refresh"), notAccess},
		{"ID token of Cognito", claim("token_use", "id"), notAccess},

		{"issuer unknown", claim("iss", "https://evil.example"), issuer},
		{"issuer with a slash", claim("iss", i.URL+"/"), issuer},
		{"issuer absent", claim("iss", nil), issuer},
		{"issuer a list", claim("iss", []string{i.URL}), issuer},
		{"key of another issuer", bearer(foreign.With(nil, m{"iss": i.URL})), signature},
		{"another issuer", bearer(foreign.Token(nil)), issuer},
		{"kid absent", token(m{"kid": nil}, nil), badKey},
		{"kid a number", token(m{"kid": 1}, nil), badKey},
		{"kid unknown", token(m{"kid": "nobody"}, nil), badKey},
		{"kid a path", token(m{"kid": "../../../dev/null"}, nil), badKey},
		{"RSA of 1024 bits", token(m{"kid": "weak", "alg": "RS256"}, nil), badKey},
		{"key for encryption", bearer(identitytest.Sign("ES256", forEnc, []byte(`{"alg":"ES256","kid":"enc"}`), []byte(text(nil)))), badKey},
		{"P-384 key", token(m{"kid": "ES384"}, nil), badKey},
		{"alg is not that of the key", bearer(identitytest.Sign("PS256", i.Key("RS256"), []byte(`{"alg":"PS256","kid":"rs-only"}`), []byte(text(nil)))), badKey},
		{"kind of another key", bearer(identitytest.Sign("ES256", i.Key("ES256"), []byte(`{"alg":"ES256","kid":"RS256"}`), []byte(text(nil)))), signature},
		{"claims changed", bearer(part[0] + "." + strings.Split(i.Token(m{"sub": "bob"}), ".")[1] + "." + part[2]), signature},
		{"signature of another", bearer(part[0] + "." + part[1] + "." + strings.Split(foreign.Token(nil), ".")[2]), signature},
		{"signature zero", bearer(part[0] + "." + part[1] + "." + strings.Repeat("A", 86)), signature},
		{"ES256 in DER", bearer(part[0] + "." + part[1] + ".MEUCIQ"), signature},

		{"expired", claim("exp", now-61), expired},
		{"exp absent", claim("exp", nil), times},
		{"exp a string", claim("exp", fmt.Sprint(now+300)), times},
		{"exp 0", claim("exp", 0), times},
		{"exp null", raw(`{"alg":"ES256","kid":"ES256"}`, strings.Replace(text(m{"exp": 5}), `"exp":5`, `"exp":null`, 1)), times},
		{"exp negative", claim("exp", -1), expired},
		{"nbf ahead", claim("nbf", now+90), early},
		{"nbf a string", claim("nbf", "x"), times},
		{"iat ahead", claim("iat", now+90), early},
		{"more than 24 hours", token(nil, m{"exp": now + 86400 + 90}), lasting},
		{"more than 24 hours without iat", token(nil, m{"iat": nil, "exp": now + 2*86400}), lasting},
		{"issued long ago", token(nil, m{"iat": now - 86400 - 300}), lasting},

		{"aud absent", claim("aud", nil), audience},
		{"aud empty", claim("aud", ""), audience},
		{"aud an empty list", claim("aud", []string{}), audience},
		{"aud another", claim("aud", "https://other.example/mcp"), audience},
		{"aud a prefix", claim("aud", "https://mcp.example.com"), audience},
		{"aud longer", claim("aud", identitytest.Audience+"/x"), audience},
		{"aud with a slash", claim("aud", identitytest.Audience+"/"), audience},
		{"aud in capitals", claim("aud", strings.ToUpper(identitytest.Audience)), audience},
		{"aud a number", claim("aud", 1), audience},
		{"aud with a number", claim("aud", []any{identitytest.Audience, 1}), audience},
		{"aud of the proxy", claim("aud", "proxy-id"), audience},
		{"sub absent", claim("sub", nil), subject},
		{"sub empty", claim("sub", ""), subject},
		{"sub a number", claim("sub", 1), subject},
		{"sub of 257 bytes", claim("sub", strings.Repeat("x", 257)), subject},
		{"sub with a line break", claim("sub", "anna\nbob"), subject},
		{"sub that turns text around", claim("sub", "anna\u202e"), subject},
		{"cnf", claim("cnf", m{"jkt": "x"}), bound},
		{"scope a number", claim("scope", 1), scope},
		{"scp with a number", claim("scp", []any{"toolset:read", 1}), scope},
		{"scope null", raw(`{"alg":"ES256","kid":"ES256"}`, strings.TrimSuffix(text(nil), "}")+`,"scope":null}`), scope},

		{"named token", []string{annaToken}, "token:anna"},
		{"named token unknown", bearer(strings.Repeat("x", 40)), unknown},
		{"assertion", assert(nil, m{"aud": "proxy-id"}), "anna"},
		{"assertion in place of a bad token", append(assert(nil, m{"aud": "proxy-id"}), "Authorization: Bearer x"), "anna"},
		{"assertion that is an ID token", assert(nil, m{"aud": "proxy-id", "at_hash": "x"}), "anna"},
		{"access token as assertion", assert(nil, nil), audience},
		{"bad assertion beside a good token", append([]string{"X-Assertion: anna"}, bearer(good)...), notJWT},
		{"empty assertion", append([]string{"X-Assertion: "}, bearer(good)...), notJWT},
		{"two assertions", append(assert(nil, m{"aud": "proxy-id"}), "+X-Assertion: x"), "400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", nil)
			r.Header.Set("Content-Type", "application/json")
			for _, h := range c.headers {
				name, value, _ := strings.Cut(h, ": ")
				switch {
				case h[0] == '?':
					r.URL.RawQuery = h[1:]
				case h[0] == '+':
					r.Header.Add(name[1:], value)
				default:
					r.Header[http.CanonicalHeaderKey(name)] = []string{value}
				}
			}
			w, by, leaked := ask.do(r)
			status, challenge := 401, none+`, error="invalid_token", error_description="`+c.want+`"`
			switch c.want {
			case "401":
				challenge = none
			case "400":
				status, challenge = 400, ""
			case "anna", "token:anna":
				status, challenge = 200, ""
				if want := strings.Replace(c.want, "anna", i.URL+":anna", 1); by.ID != want && by.ID != c.want || c.want == "anna" && by.ID != want {
					t.Errorf("the principal is %+v", by)
				}
			}
			if got := w.Header().Get("WWW-Authenticate"); w.Code != status || got != challenge || leaked {
				t.Errorf("%d %s\n got %s\nwant %d %s (leaked: %v)", w.Code, w.Body, got, status, challenge, leaked)
			}
			for _, h := range c.headers {
				if _, secret, _ := strings.Cut(h, "Bearer "); len(secret) > 8 && strings.Contains(fmt.Sprint(w.Header(), w.Body), secret) {
					t.Error("the answer has the token")
				}
			}
		})
	}
	if n := i.Fetches.Load(); n > 2 { // of the verifiers of tokens and assertions
		t.Errorf("%d fetches of the keys", n)
	}
}

// sized returns a valid token of n bytes.
func sized(i *identitytest.Issuer, n int) string {
	for more := range 4 {
		rest := n - len(i.With(map[string]any{"x": strings.Repeat("x", more)}, map[string]any{"x": ""}))
		for pad := rest*3/4 - 3; pad <= rest*3/4+3; pad++ {
			if token := i.With(map[string]any{"x": strings.Repeat("x", more)}, map[string]any{"x": strings.Repeat("x", pad)}); len(token) == n {
				return token
			}
		}
	}
	panic("no token has this size")
}

// loose changes the bits of a text in base64 that no byte has.
func loose(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(digits, text[len(text)-1])
	return text[:len(text)-1] + string(digits[last|1])
}

// TestDescription checks who gets the description of the server.
func TestDescription(t *testing.T) {
	i := identitytest.New(t)
	h := oauth(t, i)
	get := func(h HTTP, method, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://mcp.example.com"+path, nil)
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		w, _, _ := (&asked{h: h}).do(r)
		return w
	}
	for _, path := range []string{identity.MetadataPath, identity.MetadataPath + "/mcp"} {
		w := get(h, "GET", path, "Origin: https://web.example", "Sec-Fetch-Site: cross-site", "Authorization: Bearer wrong")
		want := `{"resource":"https://mcp.example.com/mcp","authorization_servers":["` + i.URL + `"],"scopes_supported":["toolset:read","toolset:write"],"bearer_methods_supported":["header"],"resource_name":"mcp-toolset"}`
		if w.Code != 200 || strings.TrimSpace(w.Body.String()) != want || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
		if w := get(h, "OPTIONS", path, "Origin: https://web.example", "Access-Control-Request-Headers: mcp-protocol-version"); w.Code != 204 || !strings.HasPrefix(w.Header().Get("Access-Control-Allow-Headers"), "*") {
			t.Errorf("OPTIONS: %d %v", w.Code, w.Header())
		}
		if w := get(h, "POST", path); w.Code != 405 {
			t.Errorf("POST: %d", w.Code)
		}
	}
	without := HTTP{Users: tokens(t), AllowHosts: h.AllowHosts}
	if w := get(without, "GET", identity.MetadataPath); w.Code != 404 {
		t.Errorf("without identity providers: %d", w.Code)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://evil.example"+identity.MetadataPath, nil)
	newGuard(h, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, time.Minute, nil).ServeHTTP(w, r)
	if w.Code != 403 {
		t.Errorf("another host: %d", w.Code)
	}
}

// TestDescriptionLimits checks that many failed attempts do not close the description, and that only
// those count in which a token may have been guessed.
func TestDescriptionLimits(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, oauth(t, identitytest.New(t)))
	i := identitytest.New(t)
	for range failBurst + 1 {
		for _, token := range []string{"-Authorization", "Authorization: Bearer " + i.Token(nil), "X-Assertion: x"} {
			if status, _, text := w.do("POST", w.url, initialize, token); status != 401 {
				t.Fatalf("%s: %d %s", token, status, text)
			}
		}
	}
	for range failBurst + 1 {
		w.do("POST", w.url, initialize, "Authorization: Bearer x")
	}
	base := strings.TrimSuffix(w.url, "/mcp")
	got := map[string]int{}
	for _, path := range []string{"/mcp", identity.MetadataPath, identity.MetadataPath + "/mcp", "/healthz"} {
		got[path], _, _ = w.do("GET", base+path, "", "Authorization: Bearer x")
	}
	if want := map[string]int{"/mcp": 429, identity.MetadataPath: 200, identity.MetadataPath + "/mcp": 200, "/healthz": 200}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReady checks when the server says that it accepts new work.
func TestReady(t *testing.T) {
	var problem error
	stopping := make(chan struct{})
	g := newGuard(HTTP{NoAuth: true, Ready: func() error { return problem }}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, time.Minute, nil)
	g.stopping = stopping
	ready := func() string {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/readyz", nil))
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	got := []string{ready()}
	problem = errors.New("there are no keys")
	got = append(got, ready())
	problem = nil
	close(stopping)
	got = append(got, ready())
	if want := []string{"200 ready", "503 not ready: there are no keys", "503 not ready: the server is ending"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestScopes checks what a token may do that does not have all scopes.
func TestScopes(t *testing.T) {
	s, _ := newServer(t, time.Second, newGate().tool("Wait", false))
	i := identitytest.New(t)
	w := serveHTTP(t, s, oauth(t, i))
	with := func(scope any) string {
		return "Authorization: Bearer " + i.Token(map[string]any{"scope": scope, "jti": fmt.Sprint(scope)})
	}
	session := w.sessionOf(with(nil))
	read := callLine(1, "Read", `{"file_path":"a.txt"}`)
	write := callLine(1, "Wait", `{"name":"w"}`)
	lacks := func(scope string) string {
		return `Bearer resource_metadata="` + metadataURL + `", scope="toolset:read toolset:write", error="insufficient_scope", error_description="the token lacks the scope ` + scope + `"`
	}
	for _, c := range []struct {
		scope     any
		method    string
		body      string
		status    int
		challenge string
	}{
		{"toolset:read", "POST", read, 200, ""},
		{"toolset:read", "POST", write, 403, lacks("toolset:write")},
		{"toolset:read", "POST", callLine(1, "Nothing", `{}`), 200, ""},
		{"toolset:read", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, ""},
		{"toolset:write", "POST", read, 200, ""},
		{"openid profile", "POST", read, 403, lacks("toolset:read")},
		{"", "POST", read, 403, lacks("toolset:read")},
		{"openid profile", "POST", initialize, 403, lacks("toolset:read")},
		{"openid profile", "GET", "", 403, lacks("toolset:read")},
		{"toolset:reader toolset:write2", "POST", read, 403, lacks("toolset:read")},
	} {
		status, header, text := w.do(c.method, w.url, c.body, with(c.scope), session)
		if status != c.status || header.Get("WWW-Authenticate") != c.challenge {
			t.Errorf("%v %s: %d %s %s", c.scope, c.body, status, header.Get("WWW-Authenticate"), text)
		}
	}
}

// TestSessionOfUser checks that a session belongs to the user and not to a token.
func TestSessionOfUser(t *testing.T) {
	s, _ := newServer(t, time.Second)
	i := identitytest.New(t)
	h := oauth(t, i)
	w := serveHTTP(t, s, h)
	as := func(claims map[string]any) string { return "Authorization: Bearer " + i.Token(claims) }
	session := w.sessionOf(as(map[string]any{"jti": "1"}))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		token  string
		status int
	}{
		{as(map[string]any{"jti": "2"}), 200},
		{as(map[string]any{"sub": "bob"}), 404},
		{annaToken, 404},
		{as(map[string]any{"jti": "3"}), 200},
	} {
		if status, _, text := w.do("POST", w.url, ping, c.token, session); status != c.status {
			t.Errorf("%d %s, want %d", status, text, c.status)
		}
	}
	// A change of the named tokens ends no session of others.
	s.EndPrincipals(h.Users.(*identity.Users).Tokens.(*identity.Tokens).Valid)
	if status, _, _ := w.do("POST", w.url, ping, as(nil), session); status != 200 {
		t.Errorf("after a change of the named tokens: %d", status)
	}
}

// TestStreamExpires checks that a listening stream ends soon after its token has expired.
func TestStreamExpires(t *testing.T) {
	s, _ := newServer(t, time.Second)
	s.timeouts.grace = 0
	i := identitytest.New(t)
	w := serveHTTP(t, s, oauth(t, i))
	session := w.sessionOf("Authorization: Bearer " + i.Token(nil))
	w.do("GET", w.url, "", "Authorization: Bearer "+i.Token(map[string]any{"exp": time.Now().Unix() - 1}), session, "Accept: text/event-stream")
	if status, _, _ := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization: Bearer "+i.Token(nil), session); status != 200 {
		t.Errorf("the session: %d", status)
	}
}

// TestManyUnknownKeys checks that tokens with unknown keys do not cause more than one fetch.
func TestManyUnknownKeys(t *testing.T) {
	i := identitytest.New(t)
	ask := &asked{h: oauth(t, i)}
	part := strings.Split(i.Token(nil), ".")
	for n := range 10_000 {
		r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"ES256","kid":"k%d"}`, n))+"."+part[1]+"."+part[2])
		if w, _, _ := ask.do(r); w.Code != 401 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+i.Token(nil))
	r.Header.Set("Content-Type", "application/json")
	if w, by, _ := ask.do(r); w.Code != 200 || by.ID != i.URL+":anna" || i.Fetches.Load() != 1 {
		t.Errorf("%d, %d fetches, %+v", w.Code, i.Fetches.Load(), by)
	}
}

// TestResultsOfUsers checks that the sessions of different users store results in different folders.
func TestResultsOfUsers(t *testing.T) {
	s, _ := newServer(t, time.Second)
	long := "https://login.example.com/" + strings.Repeat("realm/", 20)
	seen := map[string]string{}
	for _, id := range []string{"http", "token:a", "token:a-1", long + ":a", long + ":b", "https://a/b:c", "https://a/b.c", "https://a:b/c", "https://a:b.1", "https://a:b"} {
		for _, stateless := range []bool{true, false} {
			conv := s.open(identity.Principal{ID: id}, stateless, nil)
			defer s.close(conv)
			folder := conv.session.View().Results
			if other, taken := seen[folder]; taken {
				t.Errorf("%s and %s have the same folder", other, id)
			}
			seen[folder] = id
		}
	}
}
