package server

// What depends on the source of identities: the description of the server for clients of identity
// providers, and the scopes that a request needs.

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/identity"
	"mcp-toolset/tools"
)

// describe returns the handler of the description of a resource (RFC 9728), which may be nil. Every
// web page may read it.
func describe(r *identity.Resource) http.Handler {
	if r == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, "this server has no identity provider; clients need a token", http.StatusNotFound)
		})
	}
	h := mcpserver.NewProtectedResourceMetadataHandler(mcpserver.ProtectedResourceMetadataConfig{
		Resource: r.URL, AuthorizationServers: r.Issuers, ResourceName: "mcp-toolset",
		ScopesSupported: []string{identity.Read, identity.Write}, BearerMethodsSupported: []string{"header"},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closeAfterAnswer(w)
		h.ServeHTTP(allHeaders{w}, r)
	})
}

// allHeaders lets a page send the headers of MCP clients, such as that of the protocol version, which
// the library's handler does not.
type allHeaders struct{ http.ResponseWriter }

func (w allHeaders) WriteHeader(status int) {
	w.Header().Set("Access-Control-Allow-Headers", "*, Authorization")
	w.ResponseWriter.WriteHeader(status)
}

// describes reports whether a path is one of the description: the general one, that of the endpoint
// here, and that of the endpoint as clients know it.
func (g *guard) describes(path string) bool {
	return path == identity.MetadataPath || path == identity.MetadataPath+"/mcp" || g.Resource != nil && path == mcpserver.ProtectedResourceMetadataPath(g.Resource.URL)
}

// serveReady answers whether the server accepts new work.
func (g *guard) serveReady(w http.ResponseWriter) {
	var err error
	select {
	case <-g.stopping:
		err = errors.New("the server is ending")
	default:
		if g.Ready != nil {
			err = g.Ready()
		}
	}
	if err != nil {
		refuse(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	closeAfterAnswer(w)
	_, _ = io.WriteString(w, "ready\n")
}

// find returns the principal of a request, or why it is refused.
func (g *guard) find(r *http.Request) (identity.Principal, *identity.Refusal) {
	switch {
	case g.NoAuth:
		return identity.Principal{}, nil
	case r.URL.Path == metricsPath && g.Operator != nil:
		token, refusal := identity.Bearer(r)
		by, ok := g.Operator.Find(token)
		if refusal == nil && !ok {
			refusal = &identity.Refusal{Status: http.StatusUnauthorized, Text: "missing or wrong token of the operator; send Authorization: Bearer TOKEN", Challenge: `Bearer realm="mcp-toolset"`, Guess: true}
		}
		return by, refusal
	}
	return g.Users.Authenticate(r)
}

// dropTokens removes the tokens of a request, so that nothing after the guard can log or send them.
func (g *guard) dropTokens(r *http.Request) {
	r.Header.Del("Authorization")
	if u, ok := g.Users.(*identity.Users); ok && u.Header != "" {
		r.Header.Del(u.Header)
	}
}

// writeRefusal writes a refusal.
func writeRefusal(w http.ResponseWriter, why *identity.Refusal) {
	if why.Challenge != "" {
		w.Header().Set("WWW-Authenticate", why.Challenge)
	}
	if why.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(why.Retry))
	}
	refuse(w, why.Text, why.Status)
}

// lackedScope returns the scope that a request needs and its principal does not have; "" if there is
// none. A tool of an upstream server that is not known yet may be any.
func (e *endpoint) lackedScope(r *http.Request, m message) string {
	by := identity.From(r.Context())
	switch {
	case !by.May(identity.Read):
		return identity.Read
	case by.May(identity.Write) || m.method != string(mcp.MethodToolsCall):
		return ""
	}
	t, err := e.s.Registry.View(e.profile).Lookup(m.tool)
	unknown, ok := errors.AsType[*tools.UnknownTool](err)
	if t != nil && !t.Hints.ReadOnly || ok && unknown.Server != "" {
		return identity.Write
	}
	return ""
}
