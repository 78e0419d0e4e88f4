package settings

import (
	"net/netip"
	"net/url"
	"path"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// Matching of server URLs with patterns in which * matches any text. One URL can be
// written in many ways, so allowing and denying need different methods:
//
//   - An allow pattern is compared with each part of the URL separately, so that
//     https://*.example.com/* does not match https://evil.com/?.example.com/. The path
//     is decoded and free of "..", as a server would see it.
//   - A deny pattern covers every URL that matches it as text or by parts, with and
//     without the query.

// webURL is a URL split into parts.
type webURL struct {
	scheme string // lower case
	host   string // lower case, without a trailing dot; an IP address in canonical form
	port   string // never empty, except for an unknown scheme
	path   string // decoded and clean, at least "/"
	query  string // including the "?"; "" if there is none
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// parts splits a URL. It drops user information and the fragment.
func parts(text string) (webURL, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return webURL{}, false
	}
	w := webURL{scheme: u.Scheme, host: canonicalHost(u.Hostname()), port: u.Port(), path: cleanPath(u.Path)}
	if n := strings.TrimLeft(w.port, "0"); n != "" {
		w.port = n
	} else {
		w.port = defaultPorts[w.scheme]
	}
	if u.RawQuery != "" {
		w.query = "?" + u.RawQuery
	}
	return w, true
}

func canonicalHost(host string) string {
	host = strings.TrimRight(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	return host
}

// cleanPath returns a path as a server understands it. It retains a slash at the end.
func cleanPath(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// urlPattern is a compiled serverUrl.
type urlPattern struct {
	text     string
	anything bool // whether the pattern is just *
	// The pattern by parts, in which * matches any text. scheme is "" if the pattern is only
	// compared as text.
	scheme, host, port string // an empty port means the default of the scheme
	path, query        string
}

// newURLPattern compiles a pattern. It returns nil if the pattern is invalid or could
// cover no URL.
func newURLPattern(text string) *urlPattern {
	p := &urlPattern{text: text, anything: text == anyText}
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	_, web := defaultPorts[scheme]
	switch {
	case !plain.Printable(text) || strings.Contains(text, "#"):
		return nil
	case !ok || !web && !strings.ContainsAny(scheme, anyText):
		if !strings.HasPrefix(text, anyText) {
			return nil
		}
		return p
	case !web && scheme != anyText && scheme != "http*":
		return p // such as *tps://, compared as text
	}
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		at = len(rest)
	}
	host := rest[:at]
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, p.port = host[:i], strings.TrimLeft(host[i+1:], "0")
	}
	if host == "" || strings.ContainsAny(host, `@\`) || strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		return nil // Expand rejects such URLs
	}
	p.scheme, p.host = scheme, canonicalHost(strings.Trim(host, "[]"))
	pathText, query, asked := strings.Cut(rest[at:], "?")
	if at == len(rest) && host == anyText {
		pathText = "/*"
	}
	if decoded, err := url.PathUnescape(pathText); err == nil {
		pathText = decoded
	}
	if p.path = cleanPath(pathText); asked {
		p.query = "?" + query
	}
	return p
}

// onHost reports whether the pattern covers the scheme, host and port of w.
func (p *urlPattern) onHost(w webURL) bool {
	port := p.port
	if port == "" {
		port = defaultPorts[w.scheme]
	}
	return p.scheme != "" && wildcard(p.scheme, w.scheme) && wildcard(p.host, w.host) && wildcard(port, w.port)
}

// allows reports whether the pattern covers a URL, part by part. A pattern whose path
// ends in * covers any query as well.
func (p *urlPattern) allows(text string) bool {
	if p.anything {
		return true
	}
	w, ok := parts(text)
	if !ok || !p.onHost(w) {
		return false
	}
	if p.query == "" && !strings.HasSuffix(p.path, anyText) {
		return w.query == "" && wildcard(p.path, w.path)
	}
	return wildcard(p.path, w.path) && (p.query == "" || wildcard(p.query, w.query))
}

// onText reports whether the pattern covers a URL as text.
func (p *urlPattern) onText(text string) bool {
	return wildcard(strings.ToLower(p.text), strings.ToLower(text))
}

// denies reports whether the pattern covers a URL in any spelling.
func (p *urlPattern) denies(text string) bool {
	w, ok := parts(text)
	if p.anything || !ok || p.onText(text) {
		return true
	}
	host := w.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	for _, shown := range []string{host, host + ":" + w.port} {
		if shown == host && w.port != defaultPorts[w.scheme] {
			continue
		}
		if whole := w.scheme + "://" + shown + w.path; p.onText(whole) || p.onText(whole+w.query) {
			return true
		}
	}
	if !p.onHost(w) {
		return false
	}
	for _, at := range []string{w.path, strings.TrimSuffix(w.path, "/"), strings.TrimSuffix(w.path, "/") + "/"} {
		if wildcard(p.path, at) && (p.query == "" || wildcard(p.query, w.query)) {
			return true
		}
	}
	return false
}
