package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// protectedNames lists the names in a root that commands must not change, because a
// program outside of the sandbox runs or obeys them: git at the user's next prompt,
// this server at its next start. The names in .git are protected in every repository
// below a root.
var protectedNames = []string{".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks", ".git/info/attributes", settingsName}

const settingsName = ".mcp-toolset"

// repoNames lists the protected names of a repository. A file commondir makes git read
// another config.
var repoNames = []string{"config", "config.worktree", "commondir", "hooks", "info/attributes"}

// linkedNames lists those of a linked worktree, whose other files are elsewhere.
var linkedNames = []string{"config.worktree", "commondir"}

// harmless reports whether a protected name holds only what git init, git clone and git
// worktree add make. writable lists the folders where commands can put a repository.
func (g *guard) harmless(s *spot, n name, f found, writable []string) bool {
	at, err := s.look()
	switch {
	case err != nil:
		return false
	case n.pointer:
		// The names in the folder of a found repository are examined, too.
		return at.kind == 0 && f.known[pointed(n.path, s.read(pointerLimit))]
	case n.repo.dir == "":
		return false
	}
	switch filepath.Base(n.path) {
	case "hooks":
		return at.kind.IsDir() && samples(s)
	case "config", "config.worktree":
		text := s.read(configLimit)
		return text != nil && at.links == 1 && g.plainConfig(text, n, f, writable)
	case "commondir":
		text := s.read(pointerLimit)
		return n.repo.linked && strings.TrimRight(string(text), "\r\n") == "../.." && at.links == 1
	}
	return false
}

// samples reports whether a folder holds only the sample hooks of git.
func samples(s *spot) bool {
	f, err := s.open()
	if err != nil {
		return false
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample")
	})
}

// elsewhere reports whether a path is where no command can have put anything.
func elsewhere(path string, writable []string) bool {
	path = strings.TrimPrefix(path, "file://")
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && !slices.ContainsFunc(writable, func(w string) bool {
		return w != "" && (inside(path, w) || inside(target, w) || inside(target, resolved(w)))
	})
}
