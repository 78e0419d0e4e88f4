package policy

import "path/filepath"

// DeniesReading reports whether a deny rule names files or folders that may not
// be read. Commands have to be kept from them by other means than this package.
func (p *Policy) DeniesReading() bool {
	l := &p.lists[Deny].paths[Read]
	return len(l.rest) > 0 || len(l.byName) > 0
}

// DeniesReadingOf reports whether a deny rule covers reading a canonical path.
// dir is the session's working directory.
func (p *Policy) DeniesReadingOf(path, dir string) bool {
	var c call
	c.prepare(p, &Request{Tool: "Read", Dir: dir, Target: &Target{Literal: path, Canonical: path}})
	var m match
	p.lists[Deny].onPaths(&c, &m)
	return m.rule != nil
}

// DeniedByName lists the paths that deny rules on reading name in full, without
// a wildcard, wherever they are. They need not exist.
func (p *Policy) DeniedByName(dir string) []string {
	var out []string
	add := func(rules []*rule) {
		for _, r := range rules {
			if path, ok := r.path.literal(); ok {
				for _, from := range p.anchors(r.path.anchor, dir) {
					out = append(out, filepath.Join(from, path))
				}
			}
		}
	}
	l := &p.lists[Deny].paths[Read]
	add(l.rest)
	for _, rules := range l.byName {
		add(rules)
	}
	return out
}

// DeniedBelow lists the folders outside of everything else in which deny rules
// on reading have patterns: ~/priv for ~/priv/*.key. A pattern that begins with a
// wildcard right below its anchor has none.
func (p *Policy) DeniedBelow(dir string) []string {
	var out []string
	add := func(rules []*rule) {
		for _, r := range rules {
			if _, ok := r.path.literal(); ok || r.path.floating {
				continue
			}
			if folder := r.path.folder(); folder != "" {
				for _, from := range p.anchors(r.path.anchor, dir) {
					out = append(out, filepath.Join(from, folder))
				}
			}
		}
	}
	l := &p.lists[Deny].paths[Read]
	add(l.rest)
	for _, rules := range l.byName {
		add(rules)
	}
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
		path = filepath.Join(path, p.segments[i].head)
	}
	return path
}

// anchors are the folders that a deny pattern begins at.
func (p *Policy) anchors(a anchor, dir string) []string {
	switch a {
	case atFileSystem:
		return []string{"/"}
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
		path = filepath.Join(path, p.segments[i].head)
	}
	return path, true
}
