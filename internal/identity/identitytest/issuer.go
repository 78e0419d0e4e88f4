// Package identitytest has an identity provider for tests.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Audience is what the tokens of Issuer.Token are for.
const Audience = "https://mcp.example.com/mcp"

// Issuer is an identity provider with a key for each algorithm, whose kid is the algorithm.
type Issuer struct {
	URL     string
	Down    atomic.Bool  // it answers with status 500
	Fetches atomic.Int64 // of its keys

	mu   sync.Mutex
	mux  *http.ServeMux
	keys map[string]crypto.Signer // by kid
	more []any                    // further keys of the set
}

// rsaKey takes a moment to make.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// New starts an issuer, which ends with the test. more are further keys of its set.
func New(t testing.TB, more ...any) *Issuer {
	i := &Issuer{keys: map[string]crypto.Signer{}, more: more}
	i.Rotate("ES256", "EdDSA", "RS256", "PS256")
	mux := http.NewServeMux()
	answer := func(path string, data func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			if path == "/jwks" {
				i.Fetches.Add(1)
			}
			if i.Down.Load() {
				http.Error(w, "down", http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(data())
		})
	}
	answer("/.well-known/openid-configuration", func() any { return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/jwks"} })
	answer("/jwks", i.set)
	i.mux = mux
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	i.URL = s.URL
	return i
}

// Client returns a client that asks the issuer without a network.
func (i *Issuer) Client() *http.Client {
	return &http.Client{Transport: direct{i.mux}}
}

// direct sends requests to a handler.
type direct struct{ to http.Handler }

// RoundTrip returns the answer of the handler.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.to.ServeHTTP(w, r)
	return w.Result(), nil
}

// Rotate replaces the keys with new ones. A kid may be an algorithm with a suffix, such as ES256b.
func (i *Issuer) Rotate(kids ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.keys)
	for _, kid := range kids {
		switch kid[:2] {
		case "ES":
			i.keys[kid], _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		case "Ed":
			_, i.keys[kid], _ = ed25519.GenerateKey(rand.Reader)
		default:
			i.keys[kid] = rsaKey()
		}
	}
}

// Key returns the private key with a kid.
func (i *Issuer) Key(kid string) crypto.Signer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[kid]
}

// set returns the key set.
func (i *Issuer) set() any {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := append([]any{}, i.more...)
	for kid, key := range i.keys {
		one := Public(key.Public())
		one["kid"] = kid
		list = append(list, one)
	}
	return map[string]any{"keys": list}
}

// Public returns a public key as a member of a set.
func Public(key crypto.PublicKey) map[string]any {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		point, _ := k.Bytes()
		half := (len(point) - 1) / 2
		return map[string]any{"kty": "EC", "crv": k.Params().Name, "x": b64(point[1 : 1+half]), "y": b64(point[1+half:])}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(k)}
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "n": b64(k.N.Bytes()), "e": "AQAB", "use": "sig"}
	}
	return nil
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// Claims returns the claims of a valid token, with changes; nil removes a claim.
func (i *Issuer) Claims(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	return changed(map[string]any{"iss": i.URL, "sub": "anna", "aud": Audience, "iat": now, "exp": now + 300}, changes)
}

// Token returns a token that is valid but for changes of its claims.
func (i *Issuer) Token(changes map[string]any) string { return i.With(nil, changes) }

// With returns a token that is valid but for changes of its header and claims.
func (i *Issuer) With(header, claims map[string]any) string {
	h := changed(map[string]any{"alg": "ES256", "kid": "ES256", "typ": "at+jwt"}, header)
	kid, _ := h["kid"].(string)
	alg, _ := h["alg"].(string)
	key := i.Key(kid)
	if key == nil {
		key = i.Key("ES256")
	}
	return Sign(alg, key, encode(h), encode(i.Claims(claims)))
}

// Sign returns a token with any header and claims. Its signature is "x" if key does not fit alg.
func Sign(alg string, key any, header, claims []byte) string {
	text := b64(header) + "." + b64(claims)
	signature := []byte("x")
	if m := jwt.GetSigningMethod(alg); m != nil {
		if s, err := m.Sign(text, key); err == nil {
			signature = s
		}
	}
	return text + "." + b64(signature)
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func changed(m, changes map[string]any) map[string]any {
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return m
}
