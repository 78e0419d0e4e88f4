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
// this server at its next start. A commondir has git read another config.
var protectedNames = []string{".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks", ".git/info/attributes", ".mcp-toolset"}

// protected lists what is protected in a root. Where .git is no folder it is
// the file that says where the repository is, as in a linked worktree.
func protected(root string) []string {
	var out []string
	for _, name := range protectedNames {
		out = append(out, filepath.Join(root, name))
	}
	git := filepath.Join(root, ".git")
	if info, err := os.Lstat(git); err == nil && !info.IsDir() {
		out = append(out, git)
	}
	return out
}

// takeAway moves what a command made under a protected name that was absent out
// of the way, into a folder that only the server knows, unless it is what git
// itself makes of a new repository. It returns the names.
func takeAway(p sandbox.Policy, absent []string, to func() (string, error)) (names []string) {
	for _, path := range slices.Concat(pointers(p, absent), sandbox.Appeared(p, absent)) {
		if _, err := os.Lstat(path); err != nil || harmless(path, append(slices.Clone(p.Write), p.TempDir)) {
			continue // a pointer that is gone took the names behind it along
		}
		if putAway(path, to) == nil {
			names = append(names, path)
		}
	}
	return names
}

// putAway moves a file or folder into a new folder; from another file system it
// is removed.
func putAway(path string, to func() (string, error)) error {
	folder, err := to()
	if err == nil {
		// Of its own: there may be two of a name.
		folder, err = os.MkdirTemp(folder, "")
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(folder, filepath.Base(path)))
	}
	if err != nil {
		err = removeAll(path)
	}
	return err
}

// pointers lists what was made as .git and is no folder: a link, or a file that
// names one. With it all names in .git are somewhere else. That there was no
// config in a .git that could be looked into says that there was none like it.
func pointers(p sandbox.Policy, absent []string) []string {
	var out []string
	for _, path := range absent {
		git := filepath.Dir(path)
		if p.ReadOnly || filepath.Base(path) != "config" || filepath.Base(git) != ".git" {
			continue
		}
		if info, err := os.Lstat(git); err == nil && !info.IsDir() && !slices.Contains(p.Protect, git) {
			out = append(out, git)
		}
	}
	return out
}

// harmless reports whether a protected name holds only what `git init` and `git
// clone` make. writable is where commands can put a repository.
func harmless(path string, writable []string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	switch filepath.Base(path) {
	case "hooks":
		entries, err := os.ReadDir(path)
		return err == nil && info.IsDir() && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample")
		})
	case "config":
		if !info.Mode().IsRegular() || info.Size() > 64<<10 {
			return false
		}
		text, err := os.ReadFile(path)
		return err == nil && plainConfig(string(text), writable)
	}
	return false
}

var (
	configSection = regexp.MustCompile(`^\[(?:core|init|user|extensions|remote "([^"\\]+)"|branch "[^"\\]*")\]$`)
	configValue   = regexp.MustCompile(`^(\w+) = ([^"\\;#]*)$`)
	// configKeys are the settings by which git runs no program.
	configKeys = []string{
		"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "objectformat", "refstorage",
		"defaultbranch", "name", "email", "url", "fetch", "remote", "merge", "rebase",
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
		case !slices.Contains(configKeys, key), strings.Contains(value, "::"), strings.HasPrefix(value, "-"):
			return false
		case key == "url" && !remoteURL.MatchString(value) && !elsewhere(value, writable):
			return false
		case key == "url":
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
