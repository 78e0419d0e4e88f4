package search

import (
	"fmt"
	"net/netip"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/web/endpoint"
)

// CheckURL checks the base URL of a provider. A name of a host with http may still resolve to a
// public address; the client checks that when it connects.
func CheckURL(provider, text string) error {
	return endpoint.CheckURL(text, provider == "searxng")
}

// checkNear rejects the address of a connection without encryption unless it is near.
func checkNear(address string, private bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("http would go to the address %s, which is not near; use https", plain.Quote(address))
	}
	return endpoint.CheckNear(at, private)
}
