package cli

import (
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/identity"
)

// identities holds the flags of servers whose users come from identity providers.
type identities struct {
	issuers, audiences []string
	publicURL          string

	header, jwks, proxy string // proxy is the issuer of the tokens in the header
	proxyAudiences      []string

	named *identity.Tokens // of --tokens; nil without it
}

func (i *identities) add(in flagSection) {
	in.list(&i.issuers, "oauth-issuer", "accept access tokens of the identity provider at `URL`, exactly as it names itself; may be repeated")
	in.list(&i.audiences, "oauth-audience", "accept access tokens for `AUDIENCE`; may be repeated (default: --public-url)")
	in.text(&i.publicURL, "public-url", "", "`URL` of /mcp as clients know it, such as https://mcp.example.com/mcp (default: an --oauth-audience that is a URL, else the address with /mcp)")
	in.text(&i.header, "identity-header", "", "`NAME` of the header in which a proxy sends a signed token with the user, such as Cf-Access-Jwt-Assertion")
	in.text(&i.jwks, "identity-jwks", "", "`URL` of the proxy's keys for --identity-header")
	in.text(&i.proxy, "identity-issuer", "", "`ISSUER` of the tokens in --identity-header")
	in.list(&i.proxyAudiences, "identity-audience", "`AUDIENCE` of the tokens in --identity-header; may be repeated")
}

// headerName matches the name of a header that has no meaning of its own to the server.
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

// check rejects flags that could never have an effect, or not the meant one.
func (i *identities) check(o *httpOptions) error {
	if i.publicURL != "" {
		if err := checkPublic(i.publicURL, o.insecure); err != nil {
			return usagef("--public-url %w", err)
		}
	}
	for n, issuer := range i.issuers {
		if err := identity.CheckURL(issuer); err != nil {
			return usagef("--oauth-issuer %w", err)
		}
		if slices.Contains(i.issuers[:n], issuer) {
			return usagef("--oauth-issuer has %s twice; name each once", issuer)
		}
	}
	switch {
	case i.issuers == nil && i.audiences != nil:
		return usagef("--oauth-audience is for the tokens of an identity provider; add --oauth-issuer")
	case slices.Contains(i.audiences, "") || slices.Contains(i.proxyAudiences, ""):
		return usagef("an audience is empty; give the audience of the tokens")
	case i.header == "" && (i.jwks != "" || i.proxy != "" || i.proxyAudiences != nil):
		return usagef("--identity-jwks, --identity-issuer and --identity-audience are for the tokens of a proxy; add --identity-header")
	case i.header != "":
		if err := i.checkProxy(); err != nil {
			return err
		}
	}
	if i.issuers == nil && i.header == "" {
		return nil
	}
	// ISSUER:SUBJECT must name one user, whatever subjects issuers choose.
	all := slices.Concat(i.issuers, []string{i.proxy})
	for _, a := range all {
		for _, b := range all {
			if a != "" && strings.HasPrefix(b, a+":") {
				return usagef("the issuers %s and %s can have users that look the same; use one of them", a, b)
			}
		}
	}
	switch {
	case o.tokenFile != "":
		return usagef("--token-file is for one user, and others come from an identity provider; use --tokens for programs")
	case o.NoAuth:
		return usagef("--no-auth serves without tokens; leave it out, or --oauth-issuer and --identity-header")
	case i.issuers != nil && i.url("") == "" && unspecified(o.addr):
		return usagef("clients cannot reach the address %s; give the address that they use to --public-url", o.addr)
	}
	return nil
}

// checkProxy rejects a header that cannot be verified.
func (i *identities) checkProxy() error {
	switch name := strings.ToLower(i.header); {
	case !headerName.MatchString(i.header):
		return usagef("--identity-header is %q; use the name of a header, such as Cf-Access-Jwt-Assertion", i.header)
	case name == "authorization":
		return usagef("--identity-header is for a header of its own; use --oauth-issuer for tokens in Authorization")
	case slices.Contains([]string{"cookie", "host", "origin", "accept", "content-type", "content-length", "connection"}, name) || strings.HasPrefix(name, "mcp-"):
		return usagef("--identity-header is %q, which clients send for other purposes; use the header of the proxy", i.header)
	case i.jwks == "" || i.proxy == "" || i.proxyAudiences == nil:
		return usagef("--identity-header needs --identity-jwks, --identity-issuer and --identity-audience; without them anybody could write the header")
	case i.proxy+":" == "token:":
		return usagef("--identity-issuer is %q, with which users look like those of --tokens; use another issuer", i.proxy)
	}
	if err := identity.CheckURL(i.jwks); err != nil {
		return usagef("--identity-jwks %w", err)
	}
	return nil
}

// checkPublic returns an error, which continues a sentence, unless a URL can be that of the server.
func checkPublic(text string, plain bool) error {
	if plain {
		text = strings.Replace(text, "http://", "https://", 1)
	}
	if err := identity.CheckURL(text); err != nil {
		return err
	}
	if strings.HasSuffix(text, "/") {
		return usagef("is %q; leave out the slash at the end", text)
	}
	return nil
}

// url returns the URL of the endpoint as clients know it. here is its address on this machine.
func (i *identities) url(here string) string {
	if i.publicURL != "" {
		return i.publicURL
	}
	for _, audience := range i.audiences {
		if checkPublic(audience, false) == nil {
			return audience
		}
	}
	return here
}

// identify sets who may send requests, besides named tokens, once the address of the endpoint on this
// machine is known. It returns the URL of the endpoint as clients know it, and the verifiers, each of
// which must follow the keys of its issuers.
func (o *httpOptions) identify(here string, log *slog.Logger) (endpoint string, all []*identity.Verifier) {
	endpoint = o.url(here)
	if u, err := url.Parse(endpoint); err == nil && endpoint != here {
		o.AllowHosts = append(o.AllowHosts, u.Hostname())
	}
	if o.issuers == nil && o.header == "" {
		return endpoint, nil
	}
	users, client := &identity.Users{Header: o.header}, identity.NewClient()
	if o.named != nil {
		users.Tokens = o.named
	}
	if o.issuers != nil {
		audiences := o.audiences
		if audiences == nil {
			audiences = []string{endpoint}
		}
		users.Issuers = identity.NewVerifier(o.issuers, audiences, client, log)
		users.Resource = &identity.Resource{URL: endpoint, Issuers: o.issuers}
		o.Resource, all = users.Resource, append(all, users.Issuers)
	}
	if o.header != "" {
		users.Proxy = identity.NewProxyVerifier(o.proxy, o.jwks, o.proxyAudiences, client, log)
		all = append(all, users.Proxy)
	}
	o.Users, o.Ready = users, func() error {
		for _, v := range all {
			if err := v.Ready(); err != nil {
				return err
			}
		}
		return nil
	}
	return endpoint, all
}
