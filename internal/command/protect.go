package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/sandbox"
)

// protectedNames are what commands may not change in a root, because a program
// outside of the containment runs or obeys it: git on the user's next prompt,
// this server at its next start.
var protectedNames = []string{".git/config", ".git/config.worktree", ".git/hooks", ".git/info/attributes", ".mcp-toolset"}

func protected(root string) []string {
	var out []string
	for _, name := range protectedNames {
		out = append(out, filepath.Join(root, name))
	}
	return out
}

// takeAway moves what a command made under a protected name that was absent out
// of the way, into a folder that only the server knows, unless it is what git
// itself makes of a new repository. It returns the names.
func takeAway(p sandbox.Policy, absent []string, to func() (string, error)) (names []string) {
	for _, path := range sandbox.Appeared(p, absent) {
		if harmless(path) {
			continue
		}
		folder, err := to()
		if err == nil {
			err = os.Rename(path, filepath.Join(folder, filepath.Base(path)))
		}
		if err != nil { // another file system
			err = removeAll(path)
		}
		if err == nil {
			names = append(names, path)
		}
	}
	return names
}

// harmless reports whether a protected name holds only what `git init` and `git
// clone` make.
func harmless(path string) bool {
	switch filepath.Base(path) {
	case "hooks":
		entries, err := os.ReadDir(path)
		return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample")
		})
	case "config":
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
			return false
		}
		text, err := os.ReadFile(path)
		return err == nil && plainConfig(string(text))
	}
	return false
}

var (
	configSection = regexp.MustCompile(`^\[(core|init|user|(remote|branch) "[^"\\]*")\]$`)
	configValue   = regexp.MustCompile(`^(\w+) = ([^"\\;#]*)$`)
	// configKeys are the settings by which git runs no program.
	configKeys = []string{
		"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks",
		"defaultbranch", "name", "email", "url", "fetch", "remote", "merge", "rebase",
	}
)

// plainConfig reports whether a configuration of git is written as git writes it
// and has only settings by which nothing runs.
func plainConfig(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || configSection.MatchString(line) {
			continue
		}
		m := configValue.FindStringSubmatch(line)
		if m == nil || !slices.Contains(configKeys, strings.ToLower(m[1])) || strings.Contains(m[2], "::") || strings.HasPrefix(m[2], "-") {
			return false
		}
	}
	return true
}
