package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mcp-toolset/internal/text/plain"
)

// Checks of settings against the file system. Parse makes none of them.

// checkDisk checks the entries that depend on what exists on disk. users reports
// whether the file is that of the user, in the configuration folder.
func (s *Settings) checkDisk(users bool) {
	s.checkFolders()
	s.checkAnchors(users)
}

// checkFolders adds a fault for each additional directory that cannot be a root. A
// server cannot start with it.
func (s *Settings) checkFolders() {
	for i := range s.directories {
		for _, dir := range expand(s.directories[i : i+1]) {
			info, err := os.Stat(dir)
			next := ""
			switch {
			case errors.Is(err, fs.ErrNotExist):
				next = "does not exist; make the folder, or remove the entry"
			case err == nil && !info.IsDir():
				next = "is not a folder; name one, or remove the entry"
			default:
				continue
			}
			s.missing = append(s.missing, fmt.Sprintf("%s: permissions.additionalDirectories: %s %s", s.at(s.folderLines[i]), plain.Quote(dir), next))
		}
	}
}

// checkAnchors warns about patterns that begin with one / and probably mean a path from
// the file-system root. In the user's file that is any of them, because tools cannot
// access the configuration folder. Elsewhere the folder that the pattern begins with
// is missing below the file's folder, and it is a folder of every system, or two of its
// names exist below /.
func (s *Settings) checkAnchors(users bool) {
	for _, r := range s.rules.Anchored() {
		from := filepath.Join(r.Root, filepath.FromSlash(r.First))
		switch _, err := os.Lstat(from); {
		case users:
			s.ruleWarnings = append(s.ruleWarnings, fmt.Sprintf("%s begins at %s, which no tool can access; for a path from the file-system root write %s, for one in the working directory %s",
				r.Rule, plain.Quote(r.Root), r.FromSystem, r.FromDir))
		case r.First == "~" && errors.Is(err, fs.ErrNotExist):
			s.ruleWarnings = append(s.ruleWarnings, fmt.Sprintf("%s begins at %s, which has no ~; for a path from the home folder write %s",
				r.Rule, plain.Quote(r.Root), r.FromDir))
		case errors.Is(err, fs.ErrNotExist) && (systemFolders[r.First] && exists("/"+r.First) || r.Second != "" && exists("/"+r.First+"/"+r.Second)):
			s.ruleWarnings = append(s.ruleWarnings, fmt.Sprintf("%s begins at %s, which has no %s; for a path from the file-system root write %s",
				r.Rule, plain.Quote(r.Root), plain.Quote(r.First), r.FromSystem))
		}
	}
}

// systemFolders holds the first names of paths that exist on every system of a kind.
var systemFolders = map[string]bool{
	"bin": true, "boot": true, "dev": true, "etc": true, "home": true, "lib": true, "lib64": true, "media": true, "mnt": true, "opt": true, "proc": true, "root": true, "run": true, "sbin": true, "srv": true, "sys": true, "tmp": true, "usr": true, "var": true,
	"Applications": true, "Library": true, "System": true, "Users": true, "Volumes": true, "private": true, // of macOS
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inConfig reports whether path is that of the user's settings file.
func inConfig(path string) bool {
	home, _ := os.UserHomeDir()
	config := ConfigFolder(os.Getenv, home)
	return config != "" && filepath.Dir(path) == config
}
