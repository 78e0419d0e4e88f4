package gitconfig

import (
	"path/filepath"
	"slices"
	"strings"
)

// Named describes the files that a repository's configuration makes git run or read as settings.
type Named struct {
	Hooks    string   // value of core.hooksPath; "": none
	Includes []string // values of include.path and includeIf.*.path
	Words    []string // words of the commands in other settings, which may be names of files
}

// harmlessFiles lists settings that name a file from which git runs nothing.
var harmlessFiles = []string{"core.excludesfile", "commit.template", "blame.ignorerevsfile", "mailmap.file", "diff.orderfile", "core.worktree"}

// Names returns the files that settings name.
func (f *File) Names() (out Named) {
	out.Hooks = f.Last("core", "hookspath")
	for _, e := range f.Entries {
		k := e.Key.String()
		switch {
		case (e.Section == "include" && e.Sub == "" || e.Section == "includeif") && e.Name == "path":
			out.Includes = append(out.Includes, e.Value)
		case e.Bare, k == "core.hookspath", slices.Contains(harmlessFiles, k), (Judge{}).plainKey(e.Key), e.Section == "url", e.Section == "safe":
		default:
			out.Words = append(out.Words, words(e)...)
		}
	}
	return out
}

// words returns the words of a command that may be names of files: those with a slash, and arguments
// with a dot. Without a slash the first word is a program of PATH.
func words(e Entry) (out []string) {
	all := strings.FieldsFunc(strings.TrimPrefix(e.Value, "!"), func(r rune) bool { return strings.ContainsRune(" \t\n;&|<>()$`\"'=", r) })
	for i, w := range all {
		if (i > 0 && strings.Contains(w, ".") || strings.Contains(w, "/") || e.Key.String() == "core.attributesfile") && w != "." && w != ".." && filepath.Base(w) != "/" {
			out = append(out, w)
		}
	}
	return out
}
