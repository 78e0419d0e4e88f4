package policy

import (
	"path"

	"mcp-toolset/internal/ospath"
)

// This file says what commands have to be kept from by other means than this
// package, since a command may open more than it names.

// Kept are the rules on paths that keep files from a command: the deny rules
// and, unless a person has agreed to it, the ask rules. The zero value keeps
// nothing.
type Kept struct {
	p      *Policy
	dir    string // the session's working directory
	agreed bool
}

// Kept is what rules keep from a command in a working directory.
func (p *Policy) Kept(dir string, agreed bool) Kept { return Kept{p, dir, agreed} }

// each calls f with the rules Read(p), or Edit(p).
func (k Kept) each(a Access, f func(*rule)) {
	lists := []*list{&k.p.lists[Deny], &k.p.lists[Ask]}
	if k.agreed {
		lists = lists[:1]
	}
	for _, l := range lists {
		l.paths[a].each(f)
	}
}

// Any reports whether some file is kept from an access.
func (k Kept) Any(a Access) (any bool) {
	k.each(a, func(*rule) { any = true })
	return any
}

// InRoots returns one of the rules that may keep a file in the roots from
// an access, as it is written and the same for every call; "" if there is none.
func (k Kept) InRoots(a Access) string {
	first := ""
	order := -1
	k.each(a, func(r *rule) {
		if k.reachesRoot(r) && (order < 0 || r.order < order) {
			first, order = r.text, r.order
		}
	})
	return first
}

// reachesRoot reports whether a rule may cover something in a root.
func (k Kept) reachesRoot(r *rule) bool {
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
		for i := range k.p.roots {
			if base == "" || k.p.roots[i].mayHold(base) || paths.MayHold(base, k.p.roots[i].path) {
				return true
			}
		}
	}
	return false
}

// Covers reports whether a canonical path is kept from an access.
func (k Kept) Covers(a Access, path string) bool {
	var c call
	c.prepare(k.p, &Request{Tool: a.String(), Dir: k.dir, Target: &Target{Literal: path, Canonical: path, Access: a}})
	var m match
	k.p.lists[Deny].onPaths(&c, &m)
	if m.rule == nil && !k.agreed {
		k.p.lists[Ask].onPaths(&c, &m)
	}
	return m.rule != nil
}

// Named lists the paths that rules name in full, without a wildcard, wherever
// they are. They need not exist.
func (k Kept) Named(a Access) (out []string) {
	k.each(a, func(r *rule) {
		if path, ok := r.path.literal(); ok {
			for _, from := range k.p.anchors(r.path.anchor, k.dir) {
				out = append(out, below(from, path))
			}
		}
	})
	return out
}

// Below lists the folders outside of everything else in which rules have
// patterns: ~/priv for ~/priv/*.key. A pattern that begins with a wildcard right
// below its anchor has none.
func (k Kept) Below(a Access) (out []string) {
	k.each(a, func(r *rule) {
		if _, ok := r.path.literal(); ok || r.path.floating {
			return
		}
		if folder := r.path.folder(); folder != "" {
			for _, from := range k.p.anchors(r.path.anchor, k.dir) {
				out = append(out, below(from, folder))
			}
		}
	})
	return out
}

// folder is the names that a pattern begins with, up to the first wildcard; ""
// if that comes first.
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

// below joins an anchor and the names of a pattern below it. The root of all
// drives of Windows, which is no folder, is "".
func below(anchor, names string) string {
	switch {
	case anchor != "":
		return paths.Join(anchor, names)
	case names == "" && paths == ospath.Windows:
		return ""
	}
	return paths.Unslashed(path.Clean("/" + names))
}

// anchors are the folders that a deny pattern begins at; "" is the file-system
// root.
func (p *Policy) anchors(a anchor, dir string) []string {
	switch a {
	case atFileSystem:
		return []string{""}
	case atHome:
		return []string{p.home.path}
	}
	out := []string{dir}
	for _, r := range p.roots {
		out = append(out, r.path)
	}
	return out
}

// literal is a pattern as a path below its anchor, if it can only be one.
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
