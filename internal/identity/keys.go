package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	// fetchEvery is the least time between two fetches of the keys of an issuer, whatever tokens
	// arrive. After a failure, the next fetch is then.
	fetchEvery = time.Minute
	// renewEvery is the age from which keys are fetched again, so that an issuer can withdraw one.
	renewEvery = 15 * time.Minute
	// maxAge is the age up to which keys hold while the issuer cannot be reached.
	maxAge = 24 * time.Hour
	// fetchWait limits one request of a fetch, and how long a request waits for a fetch.
	fetchWait = 5 * time.Second
	maxAnswer = 1 << 20 // bytes of a document of an issuer
	// minRSA is the least length of the modulus of an RSA key, in base64: 2048 bits, by RFC 7518, 3.3.
	minRSA = 342
)

// keys holds the keys of an issuer.
type keys struct {
	issuer string
	jwks   string // URL of the keys; "": discovery finds it
	client *http.Client
	log    *slog.Logger

	mu     sync.Mutex
	set    *keySet       // nil: none yet
	tried  time.Time     // of the latest fetch; zero: none yet
	flight chan struct{} // closed at the end of the present fetch; nil: there is none
	said   string        // the latest failure in the log
}

// keySet is the answer to one fetch.
type keySet struct {
	key  jwt.Keyfunc
	kids map[string]bool
	at   time.Time
}

// NewVerifier returns the Verifier of access tokens of issuers, whose keys discovery finds.
func NewVerifier(issuers, audiences []string, client *http.Client, log *slog.Logger) *Verifier {
	v := &Verifier{Audiences: audiences, issuers: map[string]*keys{}}
	for _, issuer := range issuers {
		v.issuers[issuer] = &keys{issuer: issuer, client: client, log: log}
	}
	return v
}

// NewProxyVerifier returns the Verifier of the tokens that a proxy signs with the keys at a URL.
func NewProxyVerifier(issuer, jwks string, audiences []string, client *http.Client, log *slog.Logger) *Verifier {
	return &Verifier{Audiences: audiences, Assertions: true, issuers: map[string]*keys{issuer: {issuer: issuer, jwks: jwks, client: client, log: log}}}
}

// NewClient returns the client that fetches keys. It follows no redirects.
func NewClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: t, Timeout: fetchWait, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Follow fetches the keys of all issuers now, and again from time to time until ctx ends.
func (v *Verifier) Follow(ctx context.Context) {
	var all sync.WaitGroup
	for _, k := range v.issuers {
		all.Go(func() { k.follow(ctx) })
	}
	all.Wait()
}

// Ready returns an error that names the issuers without keys.
func (v *Verifier) Ready() error {
	var missing []string
	for issuer, k := range v.issuers {
		if k.current() == nil {
			missing = append(missing, issuer)
		}
	}
	if slices.Sort(missing); missing != nil {
		return errors.New("there are no keys of " + strings.Join(missing, ", "))
	}
	return nil
}

func (k *keys) follow(ctx context.Context) {
	tick := time.NewTicker(fetchEvery)
	defer tick.Stop()
	for {
		if set := k.current(); set == nil || time.Since(set.at) >= renewEvery {
			k.fetch(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// current returns the keys that hold; nil if there are none.
func (k *keys) current() *keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set == nil || time.Since(k.set.at) > maxAge {
		return nil
	}
	return k.set
}

// find returns the keys, if there is one with an id. An unknown one may be new: it fetches the keys
// again, unless that was done just now.
func (k *keys) find(ctx context.Context, kid string) (*keySet, problem) {
	set := k.current()
	if set == nil || !set.kids[kid] {
		k.fetch(ctx)
		set = k.current()
	}
	switch {
	case set == nil:
		return nil, noKeys
	case !set.kids[kid]:
		return nil, badKey
	}
	return set, ""
}

// fetch fetches the keys, if the latest fetch was fetchEvery ago. It waits for a fetch in progress,
// until ctx ends.
func (k *keys) fetch(ctx context.Context) {
	k.mu.Lock()
	flight := k.flight
	if flight == nil && (k.tried.IsZero() || time.Since(k.tried) >= fetchEvery) {
		k.tried = time.Now()
		flight = make(chan struct{})
		k.flight = flight
		go k.get(context.WithoutCancel(ctx), flight)
	}
	k.mu.Unlock()
	if flight == nil {
		return
	}
	wait, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	select {
	case <-flight:
	case <-wait.Done():
	}
}

// get fetches the keys and closes flight.
func (k *keys) get(ctx context.Context, flight chan struct{}) {
	set, err := k.read(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(flight)
	k.flight = nil
	if err != nil {
		if said := err.Error(); said != k.said {
			k.said = said
			effect := "those known hold for 24 hours"
			if k.set == nil {
				effect = "until they are, its users get status 503"
			}
			k.log.Warn("the keys of an issuer could not be read; "+effect, "issuer", k.issuer, "error", said)
		}
		return
	}
	if k.set == nil || k.said != "" {
		k.log.Info("the keys of an issuer were read", "issuer", k.issuer, "keys", len(set.kids))
	}
	k.set, k.said = set, ""
}

// read fetches the keys.
func (k *keys) read(ctx context.Context) (*keySet, error) {
	at := k.jwks
	if at == "" {
		var err error
		if at, err = k.discover(ctx); err != nil {
			return nil, err
		}
	}
	data, err := k.document(ctx, at)
	if err != nil {
		return nil, err
	}
	set, err := readKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	set.at = time.Now()
	return set, nil
}

// jwk holds the members of a key that are used. What else a key has, such as a certificate or the
// address of one, is left out.
type jwk struct {
	Kty string `json:"kty"`
	Use string `json:"use,omitempty"`
	Alg string `json:"alg,omitempty"`
	Kid string `json:"kid"`
	Crv string `json:"crv,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
	N   string `json:"n,omitempty"`
	E   string `json:"e,omitempty"`
}

// usable reports whether a key can verify one of the algorithms.
func (k jwk) usable() bool {
	switch k.Kty {
	case "RSA":
		return len(k.N) >= minRSA
	case "EC":
		return k.Crv == "P-256"
	}
	return k.Kty == "OKP" && k.Crv == "Ed25519"
}

// readKeys reads a key set. It leaves out keys that are not for signatures, or of kinds that are not
// known.
func readKeys(data []byte) (*keySet, error) {
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, errors.New("the keys are not valid JSON")
	}
	set := &keySet{kids: map[string]bool{}}
	var of struct {
		Keys []jwk `json:"keys"`
	}
	for _, raw := range all.Keys {
		var k jwk
		if json.Unmarshal(raw, &k) != nil || k.Kid == "" || k.Use != "" && k.Use != "sig" || !k.usable() || set.kids[k.Kid] {
			continue
		}
		one, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		if _, err := keyfunc.NewJWKJSON(one); err == nil {
			set.kids[k.Kid] = true
			of.Keys = append(of.Keys, k)
		}
	}
	if len(of.Keys) == 0 {
		return nil, errors.New("there is no key with a kid for RS256, PS256, ES256 or EdDSA")
	}
	data, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	keys, err := keyfunc.NewJWKSetJSON(data)
	if err != nil {
		return nil, err
	}
	set.key = keys.Keyfunc
	return set, nil
}

// discover finds the URL of the keys in the description of the issuer: that of OpenID Connect
// Discovery, or else that of RFC 8414.
func (k *keys) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(k.issuer)
	if err != nil {
		return "", err
	}
	data, err := k.document(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		other := *u
		other.Path = "/.well-known/oauth-authorization-server" + strings.TrimSuffix(u.Path, "/")
		var otherErr error
		if data, otherErr = k.document(ctx, other.String()); otherErr != nil {
			return "", err
		}
	}
	var found struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if json.Unmarshal(data, &found) != nil {
		return "", errors.New("the description of the issuer is not valid JSON")
	}
	if found.Issuer != k.issuer {
		return "", fmt.Errorf("the issuer calls itself %q; give exactly this to --oauth-issuer", found.Issuer)
	}
	if err := CheckURL(found.JWKS); err != nil {
		return "", fmt.Errorf("the address of the keys (jwks_uri) %w", err)
	}
	return found.JWKS, nil
}

// document fetches a document.
func (k *keys) document(ctx context.Context, at string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", at, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", at, err)
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("%s has more than %d bytes", at, maxAnswer)
	}
	return data, nil
}

// CheckURL returns an error, which continues a sentence, unless a URL is one to which nobody on the
// way can give answers: https, or http on this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("is %q; use a URL that begins with https://", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, "#?\"\\ "):
		return fmt.Errorf("is %q; use one without user, query and fragment", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("is %q; use https, or http on a loopback address", text)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
