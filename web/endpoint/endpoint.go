// Package endpoint holds what the clients of services share that the user names in the settings,
// such as a search provider or a model: keys, base URLs, and waits before another attempt.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/site"
)

// CheckURL checks the base URL of a service. One with http must be on this machine or, if private
// is set, in a private network. A name of a host with http may still resolve to a public address:
// the client calls CheckNear when it connects.
func CheckURL(text string, private bool) error {
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
	case at.Host == "localhost", ok && near(addr, private), !ok && private:
		return nil
	case private:
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

// CheckNear rejects the address of a connection without encryption unless it is of this machine
// or, if private is set, of a private network.
func CheckNear(addr netip.AddrPort, private bool) error {
	if !addr.IsValid() || !near(addr.Addr(), private) {
		return fmt.Errorf("http would go to the address %s, which is not near; use https", plain.Quote(addr.String()))
	}
	return nil
}

// RetryAfter returns the wait of a Retry-After header, at most a day, or 0.
func RetryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(24*time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at)).Round(time.Second)
	}
	return 0
}

// Sleep waits, and reports false at once if ctx would end meanwhile.
func Sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
