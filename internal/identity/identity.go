// Package identity finds out who sends an HTTP request. Each source of identities gives a
// Principal: a token, a list of named tokens, tokens of identity providers, or a header that a proxy
// signs. Everything after the guard of the HTTP server uses only that.
package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Default is the ID of the one principal of a server whose users are not told apart.
const Default = "http"

// named begins the IDs of principals with a named token.
const named = "token:"

// MaxToken is the limit of a token, in bytes.
const MaxToken = 16 << 10

// Scopes of a principal. Write includes Read.
const (
	Read  = "toolset:read"  // calls of tools that change nothing
	Write = "toolset:write" // all calls
)

// Hash is the SHA-256 of a token. Tokens are compared by it, so that the time of a comparison
// reveals neither content nor length.
type Hash [sha256.Size]byte

// Principal is whoever a request acts for.
type Principal struct {
	ID       string    // unique, such as token:anna
	Name     string    // for people
	Issuer   string    // whole URL of the identity provider; "" without one
	Groups   []string  // as the issuer names them
	Scopes   []string  // of the token; nil: it does not limit what the principal may do
	Resource string    // Resource.URL if the token is one for that; else ""
	Until    time.Time // when the token expires; zero: it does not
	By       Hash      // of the token of the request; zero if it has none
}

// May reports whether the principal has a scope.
func (p Principal) May(scope string) bool {
	return p.Scopes == nil || slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, Write)
}

// FileName returns a text that differs for all IDs of principals and may be part of a file name.
func FileName(id string) string {
	if id == "" || id == Default || strings.HasPrefix(id, named) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

// Authenticator finds the principal of a request.
type Authenticator interface {
	// Authenticate returns the principal of a request, or why it is refused.
	Authenticate(r *http.Request) (Principal, *Refusal)
}

// Refusal is the answer to a request whose principal is not known, or may not do what it asks for.
type Refusal struct {
	Status    int
	Text      string // the fact and the next step
	Challenge string // value of WWW-Authenticate; "": none
	Retry     int    // value of Retry-After, in seconds; 0: none
	// Guess reports that the request may be an attempt to find a token by trying, which nobody can do
	// with signed ones. A client of an identity provider begins without a token, and renews it when
	// it is refused.
	Guess bool
}

// Source finds the principal of a token.
type Source interface {
	// Find returns the principal of a token. It returns false if the token is not valid.
	Find(token string) (Principal, bool)
}

// One is the Source of a server with one token.
type One struct{ hash Hash }

// NewOne returns the Source of one token, which must not be empty.
func NewOne(token string) *One { return &One{hashOf(token)} }

// Find returns the default principal if the token is the right one.
func (o *One) Find(token string) (Principal, bool) {
	by := hashOf(token)
	if subtle.ConstantTimeCompare(by[:], o.hash[:]) == 0 {
		return Principal{}, false
	}
	return Principal{ID: Default, By: by}, true
}

// Authenticate finds the principal of the bearer token.
func (o *One) Authenticate(r *http.Request) (Principal, *Refusal) {
	return (&Users{Tokens: o}).Authenticate(r)
}

func hashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// Bearer returns the bearer token of a request, or "" if it has none. It refuses a request that
// shows tokens in a way that two programs may read differently, or that logs keep.
func Bearer(r *http.Request) (string, *Refusal) {
	given := r.Header.Values("Authorization")
	switch {
	case len(given) > 1:
		return "", &Refusal{Status: http.StatusBadRequest, Text: "the request has more than one Authorization header; send one"}
	case r.URL.RawQuery != "" && r.URL.Query().Has("access_token"):
		return "", &Refusal{Status: http.StatusBadRequest, Text: "the token is in the address, which logs keep; send it as Authorization: Bearer TOKEN, and make a new one"}
	case len(given) == 0:
		return "", nil
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return token, nil
}

// Users is the Authenticator of a server with several users. The zero value knows none.
type Users struct {
	Tokens   Source    // of tokens that are not signed; nil: none
	Issuers  *Verifier // of access tokens, which have two dots; nil: none
	Resource *Resource // that access tokens are for; nil without Issuers

	// Header is the name of a header with a token that Proxy verifies; "": none. If a request has
	// it, nothing else of the request counts.
	Header string
	Proxy  *Verifier
}

// Authenticate finds the principal of a request.
func (u *Users) Authenticate(r *http.Request) (Principal, *Refusal) {
	if u.Header != "" {
		if given := r.Header.Values(u.Header); len(given) > 1 {
			return Principal{}, &Refusal{Status: http.StatusBadRequest, Text: "the request has more than one header " + u.Header + "; send one"}
		} else if len(given) == 1 {
			p, problem := u.Proxy.Verify(r.Context(), given[0])
			return p, u.refusal(problem, "the header "+u.Header+" is not accepted: ")
		}
	}
	token, refusal := Bearer(r)
	if refusal != nil {
		return Principal{}, refusal
	}
	if u.Issuers != nil && token != "" && (u.Tokens == nil || strings.Count(token, ".") == 2) {
		p, problem := u.Issuers.Verify(r.Context(), token)
		p.Resource = u.Resource.URL
		return p, u.refusal(problem, "")
	}
	if u.Tokens != nil && token != "" && len(token) <= MaxToken {
		if p, ok := u.Tokens.Find(token); ok {
			return p, nil
		}
	}
	switch {
	case token != "" && u.Resource != nil:
		refusal := u.refusal(unknownToken, "")
		refusal.Guess = true
		return Principal{}, refusal
	case u.Resource != nil:
		return Principal{}, &Refusal{Status: http.StatusUnauthorized, Text: "the request has no token; sign in at one of the authorization servers of " + u.Resource.Metadata(), Challenge: u.Resource.challenge("", "")}
	case u.Tokens == nil:
		return Principal{}, &Refusal{Status: http.StatusUnauthorized, Text: "the header " + u.Header + " is missing; send the request through the proxy that adds it", Challenge: bare}
	}
	return Principal{}, &Refusal{Status: http.StatusUnauthorized, Text: "missing or wrong bearer token; send Authorization: Bearer TOKEN", Challenge: bare, Guess: true}
}

// bare is the challenge of a server without identity providers.
const bare = `Bearer realm="mcp-toolset"`

// refusal returns the refusal of a token with a problem, or nil without one.
func (u *Users) refusal(p problem, before string) *Refusal {
	switch p {
	case "":
		return nil
	case noKeys:
		return &Refusal{Status: http.StatusServiceUnavailable, Text: before + string(p) + "; try again later", Retry: int(fetchEvery / time.Second)}
	}
	r := &Refusal{Status: http.StatusUnauthorized, Text: before + string(p) + "; get a new one", Challenge: fmt.Sprintf(`%s, error="invalid_token", error_description="%s"`, bare, p)}
	if u.Resource != nil {
		r.Challenge = u.Resource.challenge("invalid_token", string(p))
	}
	return r
}

// Resource is what access tokens are for: this server, as its clients know it.
type Resource struct {
	URL     string   // of the MCP endpoint, without a slash at the end
	Issuers []string // whose tokens are accepted
}

// Metadata returns the URL of the description of the resource (RFC 9728).
func (r *Resource) Metadata() string {
	scheme, rest, _ := strings.Cut(r.URL, "://")
	host, path, _ := strings.Cut(rest, "/")
	if path != "" {
		path = "/" + path
	}
	return scheme + "://" + host + MetadataPath + path
}

// MetadataPath begins the paths of the descriptions of resources.
const MetadataPath = "/.well-known/oauth-protected-resource"

// challenge returns a value of WWW-Authenticate. The texts are ours, so nothing has to be quoted.
func (r *Resource) challenge(code, description string) string {
	c := fmt.Sprintf(`Bearer resource_metadata="%s", scope="%s %s"`, r.Metadata(), Read, Write)
	if code != "" {
		c += fmt.Sprintf(`, error="%s", error_description="%s"`, code, description)
	}
	return c
}

// Insufficient returns the refusal of a request for which the principal lacks a scope.
func (p Principal) Insufficient(scope string) *Refusal {
	text := "the token lacks the scope " + scope
	f := &Refusal{Status: http.StatusForbidden, Text: text + ", which this request needs; get a token with it", Challenge: bare + `, error="insufficient_scope"`}
	if p.Resource != "" {
		f.Challenge = (&Resource{URL: p.Resource}).challenge("insufficient_scope", text)
	}
	return f
}

type key struct{}

// With returns a context of requests of a principal.
func With(ctx context.Context, p Principal) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the principal of a request's context, or the default one.
func From(ctx context.Context) Principal {
	if p, ok := ctx.Value(key{}).(Principal); ok {
		return p
	}
	return Principal{ID: Default}
}
