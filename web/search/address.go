package search

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// CheckURL checks the base URL of a provider. A name of a host with http may still resolve to a
// public address; the client checks that when it connects.
func CheckURL(provider, text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("want a URL such as https://search.example.com, have %s", plain.Quote(withoutUser(text)))
	case u.User != nil:
		return errors.New("it has a user or password; name a variable or file that has them, with keyEnv or keyFile")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("it has a query or fragment; give the URL without it")
	}
	at, err := site.Of(u)
	if err != nil {
		return fmt.Errorf("%s has no valid host or port", plain.Quote(text))
	}
	if u.Scheme == "https" {
		return nil
	}
	addr, ok := at.Addr()
	switch {
	case at.Host == "localhost", ok && near(addr, provider == "searxng"), !ok && provider == "searxng":
		return nil
	case provider == "searxng":
		return fmt.Errorf("%s is not in a private network; use https", plain.Quote(at.Host))
	}
	return fmt.Errorf("%s is not this machine; use https, since the key is sent there", plain.Quote(at.Host))
}

// withoutUser returns a text that should be a URL without what may be a password.
func withoutUser(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

// near reports whether an address is of this machine or, if private, of a private network.
func near(addr netip.Addr, private bool) bool {
	class := site.ClassOf(addr)
	return class == site.Loopback || private && class == site.Private
}

// checkNear rejects the address of a connection without encryption unless it is near.
func checkNear(address string, private bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !near(at.Addr(), private) {
		return fmt.Errorf("http would go to the address %s, which is not near; use https", plain.Quote(address))
	}
	return nil
}
