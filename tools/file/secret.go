package file

import (
	"fmt"
	"path"
	"path/filepath"

	"mcp-toolset/tools"
)

// Secrets counts the files that a search leaves out because they may hold
// credentials. Nil counts none.
type Secrets struct {
	top    string
	secret func(path string) bool
	count  int
}

// NewSecrets returns Secrets of the folder at a canonical path; nil if there is
// nothing to leave out in it.
func NewSecrets(env *tools.Env, top string) *Secrets {
	if env.Secrets == nil {
		return nil
	}
	if secret := env.Secrets(top); secret != nil {
		return &Secrets{top: top, secret: secret}
	}
	return nil
}

// Holds reports whether a file is to be left out, given by its folder below the
// top, with slashes, and its name. It counts the file.
func (s *Secrets) Holds(dir, name string) bool {
	if s == nil || !s.secret(filepath.Join(s.top, filepath.FromSlash(path.Join(dir, name)))) {
		return false
	}
	s.count++
	return true
}

// Anew forgets what was counted.
func (s *Secrets) Anew() {
	if s != nil {
		s.count = 0
	}
}

// Note says how many files were left out; "" if none was.
func (s *Secrets) Note() string {
	switch {
	case s == nil || s.count == 0:
		return ""
	case s.count == 1:
		return "1 file that may hold credentials was left out; to ask for it, name it in a call"
	}
	return fmt.Sprintf("%d files that may hold credentials were left out; to ask for one, name it in a call", s.count)
}
