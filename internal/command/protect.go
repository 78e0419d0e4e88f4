package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// protectedNames are what commands may not change in a root, because a program
// outside of the containment runs or obeys it: git on the user's next prompt,
// this server at its next start. Those in .git are also protected in every
// repository below a root.
var protectedNames = []string{".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks", ".git/info/attributes", settingsName}

const settingsName = ".mcp-toolset"

// repoNames are those of a repository. A commondir has git read another config.
var repoNames = []string{"config", "config.worktree", "commondir", "hooks", "info/attributes"}

// linkedNames are those of a linked worktree, which has the rest elsewhere.
var linkedNames = []string{"config.worktree", "commondir"}

// harmless reports whether a protected name holds only what `git init`, `git
// clone` and `git worktree add` make. writable is where commands can put a
// repository.
func harmless(s *spot, n name, f found, writable []string) bool {
	at, err := s.look()
	switch {
	case err != nil:
		return false
	case n.pointer:
		// One that was found has names that are looked at as well.
		return at.kind == 0 && f.known[pointed(n.path, s.read(pointerLimit))]
	case n.repo.dir == "":
		return false
	}
	switch filepath.Base(n.path) {
	case "hooks":
		return at.kind.IsDir() && samples(s)
	case "config", "config.worktree":
		text := s.read(64 << 10)
		return text != nil && at.links == 1 && plainConfig(withoutWorktree(string(text), n.repo), writable)
	case "commondir":
		text := s.read(pointerLimit)
		return n.repo.linked && strings.TrimRight(string(text), "\r\n") == "../.." && at.links == 1
	}
	return false
}

// samples reports whether a folder has only what git puts into hooks.
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

// worktreeLine says where the files of a submodule are.
var worktreeLine = regexp.MustCompile(`(?m)^\tworktree = ((?:\.\./)+[^"\\;#\n]*)\n`)

// withoutWorktree leaves out of the configuration of a submodule that its files
// are in the superproject.
func withoutWorktree(text string, r repo) string {
	m := worktreeLine.FindStringSubmatchIndex(text)
	if r.super == "" || m == nil {
		return text
	}
	at := filepath.Join(r.dir, text[m[2]:m[3]])
	if at == r.super || !inside(at, r.super) || slices.Contains(strings.Split(at, "/"), ".git") {
		return text
	}
	return text[:m[0]] + text[m[1]:]
}

var (
	configSection = regexp.MustCompile(`^\[(?:core|init|user|extensions|pull|push|fetch|lfs|remote "([^"\\]+)"|submodule(?: "[^"\\]*")?|branch "[^"\\]*")\]$`)
	configValue   = regexp.MustCompile(`^(\w+) = ([^"\\;#]*)$`)
	// configKeys are the settings by which git runs no program.
	configKeys = []string{
		"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "objectformat", "refstorage",
		"defaultbranch", "name", "email", "url", "fetch", "remote", "merge", "rebase",
		"active", "sparsecheckout", "sparsecheckoutcone",
		"promisor", "partialclonefilter", "mirror", "tagopt", "autocrlf", "eol", "safecrlf", "sharedrepository", "prune", "pushurl", "ff", "default", "autosetupremote",
	}
	// remoteURL is of a repository on another machine.
	remoteURL = regexp.MustCompile(`^((https?|ssh|git)://[^-/]|[\w.][\w.-]*@[\w.][\w.-]*:[^:]|[\w.][\w.-]+:[^:/])`)
)

// plainConfig reports whether a configuration of git is written as git writes it
// and has only settings by which nothing runs: also no hook of a repository that
// it names, which a push to one in a writable folder would run.
func plainConfig(text string, writable []string) bool {
	var remote string // that the section is about
	var remotes, named []string
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\r\n") // git's idea of white space
		if line == "" {
			continue
		}
		if m := configSection.FindStringSubmatch(line); m != nil {
			remote = m[1]
			continue
		}
		m := configValue.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		key, value := strings.ToLower(m[1]), m[2]
		switch {
		case !slices.Contains(configKeys, key), strings.Contains(value, "::"), strings.HasPrefix(value, "-") && key != "tagopt":
			return false
		case (key == "url" || key == "pushurl") && !remoteURL.MatchString(value) && !elsewhere(value, writable):
			return false
		case key == "url" && remote != "":
			remotes = append(remotes, remote)
		case key == "remote" && value != ".":
			named = append(named, value)
		}
	}
	// A remote without a url is taken for a path.
	return !slices.ContainsFunc(named, func(name string) bool { return !slices.Contains(remotes, name) })
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
