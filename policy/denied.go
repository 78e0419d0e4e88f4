package policy

import (
	"path"

	"mcp-toolset/internal/file/ospath"
)

// Files that other packages must hide from commands. This package cannot do it alone,
// since a command may open files that it does not name.

// HidingRules selects the path rules that hide files from a command: the deny rules and,
// unless the user has approved the command, the ask rules. The zero value must not be
// used: its methods need a Policy.
type HidingRules struct {
	p      *Policy
	dir    string // the session's working directory
	agreed bool
}

// HidingRules returns the rules that hide files from a command with working directory dir.
// agreed reports whether the user has approved the command.
func (p *Policy) HidingRules(dir string, agreed bool) HidingRules { return HidingRules{p, dir, agreed} }

// each calls f with each Read(p) rule, or Edit(p) rule, as a selects.
func (k HidingRules) each(a Access, f func(*rule)) {
	lists := []*list{&k.p.lists[Deny], &k.p.lists[Ask]}
	if k.agreed {
		lists = lists[:1]
	}
	for _, l := range lists {
		l.paths[a].each(f)
	}
}

// Any reports whether any rule hides files from the access.
func (k HidingRules) Any(a Access) (any bool) {
	k.each(a, func(*rule) { any = true })
	return any
}

// InRoots returns the text of the first rule that may hide a file in the roots from
// the access, or "" if there is none. The answer is the same for every call.
func (k HidingRules) InRoots(a Access) string {
	first := ""
	order := -1
	k.each(a, func(r *rule) {
		if k.mayCoverRoot(r) && (order < 0 || r.order < order) {
			first, order = r.text, r.order
		}
	})
	return first
}

// mayCoverRoot reports whether a rule may cover a file in a root.
func (k HidingRules) mayCoverRoot(r *rule) bool {
	if r.path == nil {
		return true
	}
	prefix := ""
	if path, ok := r.path.literal(); ok {
		prefix = path
	} else if !r.path.floating {
		prefix = r.path.folder()
	}
	for _, from := range k.p.anchors(r.path.anchor, k.dir) {
		base := below(from, prefix)
		for _, root := range k.p.bases() {
			if base == "" || root.mayHold(base) || paths.MayHold(base, root.path) {
				return true
			}
		}
	}
	return false
}

// Covers reports whether a rule hides the canonical path from the access.
func (k HidingRules) Covers(a Access, path string) bool { return k.Rule(a, path) != "" }

// Rule returns the text of the first rule that hides the canonical path from the access,
// or "" if there is none.
func (k HidingRules) Rule(a Access, path string) string {
	var c call
	c.prepare(k.p, &Request{Tool: a.String(), Dir: k.dir, Target: &Target{Literal: path, Canonical: path, Access: a}})
	var m match
	k.p.lists[Deny].onPaths(&c, &m)
	if m.rule == nil && !k.agreed {
		k.p.lists[Ask].onPaths(&c, &m)
	}
	if m.rule == nil {
		return ""
	}
	return m.rule.text
}

// Named returns the paths that rules name in full, without wildcards, inside and
// outside of the roots. They need not exist.
func (k HidingRules) Named(a Access) (out []string) {
	k.each(a, func(r *rule) {
		if path, ok := r.path.literal(); ok {
			for _, from := range k.p.anchors(r.path.anchor, k.dir) {
				out = k.p.withCopy(append(out, below(from, path)))
			}
		}
	})
	return out
}

// Below returns the folders that contain the patterns of rules with wildcards: ~/priv
// for ~/priv/*.key. A pattern with a wildcard directly below its anchor has no such
// folder and is left out.
func (k HidingRules) Below(a Access) (out []string) {
	k.each(a, func(r *rule) {
		if _, ok := r.path.literal(); ok || r.path.floating {
			return
		}
		if folder := r.path.folder(); folder != "" {
			for _, from := range k.p.anchors(r.path.anchor, k.dir) {
				out = k.p.withCopy(append(out, below(from, folder)))
			}
		}
	})
	return out
}

// folder returns the names at the start of the pattern, up to the first wildcard, or
// "" if the pattern begins with a wildcard.
func (p *pathPattern) folder() (path string) {
	for i := range p.segments {
		if p.segments[i].kind != exact {
			if i <= p.bound {
				return ""
			}
			break
		}
		path += "/" + p.segments[i].name
	}
	return path
}

// below joins an anchor and the names of a pattern below it. It returns "" for the
// root of all drives of Windows, which is not a folder.
func below(anchor, names string) string {
	switch {
	case anchor != "":
		return paths.Join(anchor, names)
	case names == "" && paths == ospath.Windows:
		return ""
	}
	return paths.Unslashed(path.Clean("/" + names))
}

// anchors returns the folders at which a deny pattern begins. The file-system root is
// "".
func (p *Policy) anchors(a anchor, dir string) []string {
	switch a {
	case atFileSystem:
		return []string{""}
	case atHome:
		return []string{p.home.path}
	}
	out := []string{dir}
	for _, r := range p.bases() {
		out = append(out, r.path)
	}
	return out
}

// withCopy adds the path in the worktree that corresponds to the last of some paths.
func (p *Policy) withCopy(list []string) []string {
	if path := p.inWorktree(list[len(list)-1]); path != "" {
		return append(list, path)
	}
	return list
}

// literal returns the pattern as a path below its anchor, if it can match only that
// path.
func (p *pathPattern) literal() (path string, ok bool) {
	if p.floating || len(p.segments) == 0 {
		return "", false
	}
	for i := range p.segments {
		if p.segments[i].kind != exact {
			return "", false
		}
		path += "/" + p.segments[i].name
	}
	return path, true
}
