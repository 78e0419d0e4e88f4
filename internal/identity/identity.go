// Package identity finds out who sends an HTTP request. Each source of identities, such as a token
// or a list of named tokens, gives a Principal. Everything after the guard of the HTTP server uses
// only that.
package identity

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Default is the ID of the one principal of a server whose users are not told apart.
const Default = "http"

// maxHeader is the limit of an Authorization header, in bytes.
const maxHeader = 4096

// Hash is the SHA-256 of a token. Tokens are compared by it, so that the time of a comparison
// reveals neither content nor length.
type Hash [sha256.Size]byte

// Principal is whoever a request acts for.
type Principal struct {
	ID   string // unique, such as token:anna
	Name string // for people
	By   Hash   // of the token of the request; zero if it has none

	Issuer string   // whole URL of the identity provider; "" without one
	Groups []string // as the issuer names them
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

func hashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// Bearer returns the bearer token of a request, or "" if it has none, or more than one
// Authorization header.
func Bearer(r *http.Request) string {
	given := r.Header.Values("Authorization")
	if len(given) != 1 || len(given[0]) > maxHeader {
		return ""
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
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
