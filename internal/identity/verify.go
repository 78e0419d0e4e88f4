package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"mcp-toolset/internal/text/strictjson"
)

// A problem says why a token is refused. There are only these, so that nothing of a token gets into
// an answer or a log.
type problem string

const (
	noKeys       problem = "the keys of the issuer of the token are not known yet"
	unknownToken problem = "the token is not known"
	tooLong      problem = "the token has more than 16384 bytes"
	notJWT       problem = "the token is no valid JWT"
	badAlgorithm problem = "the algorithm of the token is none of RS256, PS256, ES256 and EdDSA"
	badHeader    problem = "the header of the token has crit, jwk, jku, x5u or x5c, which are not accepted"
	notAccess    problem = "the token is not an access token"
	badIssuer    problem = "the issuer of the token is not one of this server"
	badKey       problem = "the token names no key of its issuer that fits"
	badSignature problem = "the signature of the token is wrong"
	badTimes     problem = "the token has no valid exp, or iat or nbf are not valid"
	expired      problem = "the token has expired"
	tooEarly     problem = "the token is not valid yet"
	tooLasting   problem = "the token is valid for more than 24 hours"
	badAudience  problem = "the token is for another audience"
	badSubject   problem = "the token has no valid sub"
	bound        problem = "the token is bound to a key of its client (cnf), which is not supported"
	badScope     problem = "the scope of the token is not valid"
)

const (
	leeway  = time.Minute // for clocks that differ
	maxLife = 24 * time.Hour
	maxSub  = 256 // bytes
	// maxNested limits the depth of objects and lists in a token.
	maxNested = 64
	// maxName limits names and groups, in bytes; maxGroups their number.
	maxName, maxGroups = 256, 1000
)

var algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}

// Verifier verifies signed tokens of issuers.
type Verifier struct {
	Audiences []string // of which a token must have one
	// Assertions reports that the tokens come from a proxy: they need not be access tokens.
	Assertions bool

	issuers map[string]*keys

	mu       sync.Mutex
	verified map[Hash]verified // tokens that were verified just now
}

// verified is the result for a token. It holds while its issuer has the same keys.
type verified struct {
	principal Principal
	keys      *keys
	set       *keySet
	until     time.Time
}

// hold limits how long the result for a token is used again, and maxHeld their number.
const hold, maxHeld = time.Minute, 10_000

// Verify returns the principal of a token, or why it is refused. The checks are in the order of their
// cost: what is not signed is looked at only to find the key.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, problem) {
	if len(token) > MaxToken {
		return Principal{}, tooLong
	}
	by := hashOf(token)
	v.mu.Lock()
	known, ok := v.verified[by]
	v.mu.Unlock()
	if ok && time.Now().Before(known.until) && known.keys.current() == known.set {
		return known.principal, ""
	}
	issuer, kid, p := v.look(token)
	if p != "" {
		return Principal{}, p
	}
	keys := v.issuers[issuer]
	set, p := keys.find(ctx, kid)
	if p != "" {
		return Principal{}, p
	}
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, set.key, jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithIssuer(issuer),
		jwt.WithAudience(v.Audiences...), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway))
	if err != nil {
		return Principal{}, problemOf(err)
	}
	principal, p := v.principal(issuer, claims, by)
	if p == "" {
		v.remember(verified{principal, keys, set, time.Now().Add(hold)})
	}
	return principal, p
}

// remember stores the result for a token. What is stored is dropped when there is too much of it.
func (v *Verifier) remember(of verified) {
	if of.principal.Until.Before(of.until) {
		of.until = of.principal.Until
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.verified == nil || len(v.verified) >= maxHeld {
		v.verified = map[Hash]verified{}
	}
	v.verified[of.principal.By] = of
}

// look finds issuer and key of a token that is not verified yet, and refuses what no token of an
// issuer has.
func (v *Verifier) look(token string) (issuer, kid string, p problem) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return "", "", notJWT
	}
	var objects [2]map[string]json.RawMessage
	for i := range objects {
		text, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err == nil {
			err = strictjson.Check(text, maxNested)
		}
		if err == nil {
			objects[i], err = strictjson.Fields(text)
		}
		if err != nil {
			return "", "", notJWT
		}
	}
	header, claims := objects[0], objects[1]
	if !slices.Contains(algorithms, text(header["alg"])) {
		return "", "", badAlgorithm
	}
	for _, key := range []string{"crit", "jwk", "jku", "x5u", "x5c"} {
		if _, ok := header[key]; ok {
			return "", "", badHeader
		}
	}
	// Some issuers leave typ out. Tokens for other purposes have a typ of their own.
	typ := strings.TrimPrefix(strings.ToLower(text(header["typ"])), "application/")
	if _, given := header["typ"]; given && typ != "jwt" && typ != "at+jwt" || !v.Assertions && otherUse(claims) {
		return "", "", notAccess
	}
	if issuer = text(claims["iss"]); v.issuers[issuer] == nil {
		return "", "", badIssuer
	}
	if kid = text(header["kid"]); kid == "" {
		return "", "", badKey
	}
	return issuer, kid, ""
}

// otherUse reports whether claims are of an ID token or a refresh token. Where the audience is the
// client's, as with Entra, the audience does not tell them apart.
func otherUse(claims map[string]json.RawMessage) bool {
	for _, key := range []string{"at_hash", "c_hash"} { // OpenID Connect Core, 3.1.3.6 and 3.3.2.11
		if _, ok := claims[key]; ok {
			return true
		}
	}
	return slices.Contains([]string{"ID", "Refresh", "Offline"}, text(claims["typ"])) || text(claims["token_use"]) == "id" // Keycloak, Cognito
}

// text returns a JSON string, or "" for anything else.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // a wrong type is as bad as none
	return s
}

// problemOf returns the problem of a token that the library refuses.
func problemOf(err error) problem {
	if (errors.Is(err, jwt.ErrTokenRequiredClaimMissing) || errors.Is(err, jwt.ErrInvalidType)) && strings.Contains(err.Error(), "aud ") {
		return badAudience
	}
	for _, c := range []struct {
		is  error
		why problem
	}{
		{jwt.ErrTokenMalformed, notJWT},
		{jwt.ErrTokenUnverifiable, badKey},
		{jwt.ErrTokenSignatureInvalid, badSignature},
		{jwt.ErrInvalidType, badTimes},
		{jwt.ErrTokenExpired, expired},
		{jwt.ErrTokenNotValidYet, tooEarly},
		{jwt.ErrTokenUsedBeforeIssued, tooEarly},
		{jwt.ErrTokenInvalidAudience, badAudience},
	} {
		if errors.Is(err, c.is) {
			return c.why
		}
	}
	return badTimes
}

// principal returns the principal of verified claims.
func (v *Verifier) principal(issuer string, claims jwt.MapClaims, by Hash) (Principal, problem) {
	until, _ := claims.GetExpirationTime()
	begin, _ := claims.GetIssuedAt()
	from := time.Now()
	if begin != nil {
		from = begin.Time
	}
	sub, _ := claims.GetSubject()
	scopes, ok := scopesOf(claims)
	_, cnf := claims["cnf"]
	switch {
	case until == nil:
		return Principal{}, badTimes
	case until.Sub(from) > maxLife+leeway:
		return Principal{}, tooLasting
	case sub == "" || len(sub) > maxSub || !printable(sub):
		return Principal{}, badSubject
	case cnf:
		return Principal{}, bound
	case !ok:
		return Principal{}, badScope
	}
	p := Principal{ID: issuer + ":" + sub, Name: sub, Issuer: issuer, Scopes: scopes, Until: until.Time, By: by}
	for _, key := range []string{"preferred_username", "email", "name"} {
		if name, _ := claims[key].(string); name != "" && len(name) <= maxName && printable(name) {
			p.Name = name
			break
		}
	}
	groups, _ := claims["groups"].([]any)
	for _, g := range groups[:min(len(groups), maxGroups)] {
		if name, _ := g.(string); name != "" && len(name) <= maxName && printable(name) {
			p.Groups = append(p.Groups, name)
		}
	}
	return p, ""
}

// scopesOf returns the scopes of claims: nil without a claim for them. It returns false if the claim
// cannot be understood.
func scopesOf(claims jwt.MapClaims) (scopes []string, ok bool) {
	for _, key := range []string{"scope", "scp"} { // RFC 8693; Entra, Okta
		switch given := claims[key].(type) {
		case nil:
			if _, given := claims[key]; given {
				return nil, false
			}
			continue
		case string:
			scopes = append(scopes, strings.Fields(given)...)
		case []any:
			for _, one := range given {
				name, ok := one.(string)
				if !ok {
					return nil, false
				}
				scopes = append(scopes, name)
			}
		default:
			return nil, false
		}
		if scopes == nil {
			scopes = []string{}
		}
	}
	return scopes, true
}

// printable reports whether a text has only characters that show.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
