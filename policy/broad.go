package policy

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
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

// maxSuggested is the number of rules that a decision suggests at most.
const maxSuggested = 3

// suggested returns the rules that would allow the call for good, as the end of a next step, or that
// none can.
func (c *call) suggested() string {
	texts, known := c.unruled(func(p *Part) bool { return !p.ReadOnly && !p.Reads })
	if len(texts) == 0 && known {
		texts, known = c.unruled(func(p *Part) bool { return true })
	}
	switch {
	case !known:
		return "; no rule can allow it for good, since a rule cannot tell what it runs"
	case len(texts) == 0:
		return ""
	case len(texts) > maxSuggested:
		return fmt.Sprintf(", for good by a rule on each of its %d commands in %s", len(texts), c.file())
	}
	name := c.r.Tool
	if isCommandTool(name) {
		name = commandTools[0]
	}
	for i, text := range texts {
		rule := name + "(" + text + ")"
		if strings.ContainsAny(text, "*") || len(text) > 100 || rule != plain.Quote(rule) {
			words := strings.SplitN(text, " ", 3)
			rule = name + "(" + strings.Join(words[:min(2, len(words))], " ") + " *)"
			if len(words) < 3 || strings.Contains(words[0]+words[1], "*") || rule != plain.Quote(rule) {
				return "; no rule can allow it for good, since a rule cannot tell what it runs"
			}
		}
		texts[i] = rule
	}
	return ", for good by the " + plural("rule", len(texts)) + " " + strings.Join(texts, " and ") + " in " + c.file()
}

// unruled returns the texts of the parts that no allow rule covers, among those for which need is
// true. known is false if no rule can cover one.
func (c *call) unruled(need func(*Part) bool) (texts []string, known bool) {
	l := &c.p.lists[Allow]
	for i := range c.r.Parts.List {
		p := &c.r.Parts.List[i]
		if p.Inner {
			continue
		}
		if need(p) && l.covering(c, p).rule == nil {
			if !p.Allowable {
				return nil, false
			}
			texts = append(texts, p.Text)
		}
		for _, name := range p.Outputs {
			if p := output(name); l.covering(c, p).rule == nil {
				texts = append(texts, p.Text)
			}
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts), true
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
