package file

import (
	"fmt"
	"path"
	"path/filepath"

	"mcp-toolset/tools"
)

// Secrets counts the files that a search leaves out because they may hold credentials. A
// nil *Secrets leaves out none.
type Secrets struct {
	top    string
	secret func(path string) bool
	count  int
}

// NewSecrets returns a Secrets for the folder with a canonical path, or nil if no file is
// to be left out.
func NewSecrets(env *tools.Env, top string) *Secrets {
	if env.Secrets == nil {
		return nil
	}
	if secret := env.Secrets(top); secret != nil {
		return &Secrets{top: top, secret: secret}
	}
	return nil
}

// Holds reports whether to leave out a file, and counts it if so. dir is its folder below
// the top, with slashes.
func (s *Secrets) Holds(dir, name string) bool {
	if !s.Has(dir, name) {
		return false
	}
	s.count++
	return true
}

// Has is Holds without counting.
func (s *Secrets) Has(dir, name string) bool {
	return s != nil && s.secret(filepath.Join(s.top, filepath.FromSlash(path.Join(dir, name))))
}

// Anew resets the count.
func (s *Secrets) Anew() {
	if s != nil {
		s.count = 0
	}
}

// Note returns a note with the number of files left out, or "" if there are none.
func (s *Secrets) Note() string {
	switch {
	case s == nil || s.count == 0:
		return ""
	case s.count == 1:
		return "1 file that may hold credentials was left out; to ask for it, name it in a call"
	}
	return fmt.Sprintf("%d files that may hold credentials were left out; to ask for one, name it in a call", s.count)
}
