package policy

import (
	"slices"
	"strings"
)

// This file keeps the texts of decisions from recommending a rule that covers
// far more than one call needs. A rule on a path covers all that is below it.

// topFolders are folders of systems right below the root folder.
var topFolders = []string{
	"Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "nix", "opt",
	"private", "proc", "root", "run", "sbin", "snap", "srv", "sys", "tmp", "usr", "var",
	"Documents and Settings", "Program Files", "Program Files (x86)", "ProgramData", "Windows",
}

// crowdedFolders are those of topFolders whose own folders are as broad: a home
// folder, /usr/lib, /var/log.
var crowdedFolders = []string{"Library", "System", "Users", "home", "private", "usr", "var"}

// broad reports whether a path is one that no rule should be suggested for: the
// root folder, a folder of the system, a home folder, a workspace root, or what
// one of the latter two is in.
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

// broadPart reports whether a part of a call changes a path that is broad, or
// has one among its words.
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
