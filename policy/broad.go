package policy

import (
	"slices"
	"strings"
)

// Checks that keep the texts of decisions from suggesting rules that are too broad. A
// rule on a path covers everything below it.

// topFolders lists system folders directly below the root folder.
var topFolders = []string{
	"Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "nix", "opt",
	"private", "proc", "root", "run", "sbin", "snap", "srv", "sys", "tmp", "usr", "var",
	"Documents and Settings", "Program Files", "Program Files (x86)", "ProgramData", "Windows",
}

// crowdedFolders lists the topFolders whose direct subfolders are just as broad: a
// home folder, /usr/lib, /var/log.
var crowdedFolders = []string{"Library", "System", "Users", "home", "private", "usr", "var"}

// broad reports whether path is too broad to suggest a rule for. It is, if it is the
// root folder, a system folder, a home folder or a workspace root, or if it contains
// the user's home folder or a workspace root.
func (p *Policy) broad(path string) bool {
	if p.home.path != "" && paths.MayHold(path, p.home.path) {
		return true
	}
	if slices.ContainsFunc(p.roots, func(r folder) bool { return paths.MayHold(path, r.path) }) {
		return true
	}
	if within(systemFolders, path) == path {
		return true
	}
	named := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return paths.Fold(n) == name })
	}
	switch names := paths.Names(path)[paths.Depth(paths.Top(path)):]; len(names) {
	case 0:
		return true
	case 1:
		return named(topFolders, names[0])
	case 2:
		return named(crowdedFolders, names[0])
	}
	return false
}

// broadPart reports whether a part of a call changes a broad path or has one among its
// words.
func (c *call) broadPart(p *Part) bool {
	if slices.ContainsFunc(c.targets, func(t *call) bool { return t.r.Target.Access == Edit && c.p.broad(t.real.path) }) {
		return true
	}
	return slices.ContainsFunc(strings.Fields(p.Text), func(word string) bool {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		if rest, ok := strings.CutPrefix(word, "~"); ok && c.p.home.path != "" && (rest == "" || rest[0] == '/') {
			word = c.p.home.path + rest
		}
		return paths.IsAbs(word) && c.p.broad(paths.Clean(word))
	})
}
