package command

import (
	"os"
	"path/filepath"
	"regexp"
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
func harmless(s *spot, n name, f found, writable []string) bool {
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
		text := s.read(64 << 10)
		return text != nil && at.links == 1 && plainConfig(withoutWorktree(string(text), n.repo), writable)
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

// worktreeLine matches the setting for the working tree of a submodule.
var worktreeLine = regexp.MustCompile(`(?m)^\tworktree = ((?:\.\./)+[^"\\;#\n]*)\n`)

// withoutWorktree removes the worktree setting from the configuration of a submodule if
// it leads into the superproject.
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
	// configKeys lists the settings that make git run no program.
	configKeys = []string{
		"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "objectformat", "refstorage",
		"defaultbranch", "name", "email", "url", "fetch", "remote", "merge", "rebase",
		"active", "sparsecheckout", "sparsecheckoutcone",
		"promisor", "partialclonefilter", "mirror", "tagopt", "autocrlf", "eol", "safecrlf", "sharedrepository", "prune", "pushurl", "ff", "default", "autosetupremote",
	}
	// remoteURL matches the URL of a repository on another machine.
	remoteURL = regexp.MustCompile(`^((https?|ssh|git)://[^-/]|[\w.][\w.-]*@[\w.][\w.-]*:[^:]|[\w.][\w.-]+:[^:/])`)
)

// plainConfig reports whether a git configuration has the form that git writes and only
// settings that run nothing. That includes hooks of a repository that it names: a push
// to a repository in a writable folder would run them.
func plainConfig(text string, writable []string) bool {
	var remote string // name in the current section
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
	// Git takes a remote without a url for a path.
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
