package workspace

import (
	"sync"

	"mcp-toolset/internal/ospath"
)

// shares are the network shares of Windows that may be looked at.
var shares shareSet

type shareSet struct {
	mu      sync.Mutex
	trusted map[string]bool // by ospath.Style.Share
}

// TrustShares has paths be resolved that are on the share of one of these. A
// server that is only asked whether a file exists is sent the credentials of
// the user, so a share that a model, or a link in a repository, names is not
// looked at, whatever the policy says. Paths on no share change nothing.
func TrustShares(paths ...string) {
	shares.mu.Lock()
	defer shares.mu.Unlock()
	for _, path := range paths {
		share := ospath.Host.Share(ospath.Host.Clean(path))
		if share == "" {
			continue
		}
		if shares.trusted == nil {
			shares.trusted = map[string]bool{}
		}
		shares.trusted[share] = true
	}
}

// check returns a *ospath.Fault for a path on a share that is not trusted.
func (s *shareSet) check(path string) error {
	share := ospath.Host.Share(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if share == "" || s.trusted[share] {
		return nil
	}
	return &ospath.Fault{
		Fact: "is on a network share that no workspace root is on, which would be sent the credentials of the user",
		Next: "Use a path on this machine, or ask the user to make a folder of the share a workspace root.",
	}
}
