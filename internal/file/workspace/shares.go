package workspace

import (
	"sync"

	"mcp-toolset/internal/file/ospath"
)

// shares is the set of Windows network shares that may be accessed.
var shares = shareSet{style: ospath.Host}

type shareSet struct {
	style   ospath.Style
	mu      sync.Mutex
	trusted map[string]bool // keys are results of ospath.Style.Share
}

// TrustShares allows access to the shares that hold the paths. It ignores paths on no
// share. Even a look at a file sends the user's credentials to the server of a share.
// So a share that only a model or a link in a repository names is never accessed,
// whatever the policy decides.
func TrustShares(paths ...string) {
	for _, path := range paths {
		shares.trust(path)
	}
}

func (s *shareSet) trust(path string) {
	share := s.style.Share(s.style.Clean(path))
	if share == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trusted == nil {
		s.trusted = map[string]bool{}
	}
	s.trusted[share] = true
}

// check returns a *ospath.Fault for a path on a share that is not trusted.
func (s *shareSet) check(path string) error {
	share := s.style.Share(path)
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
