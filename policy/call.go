package policy

import (
	"slices"
)

// call holds a Request with its paths split once, for all rules.
type call struct {
	p       *Policy
	r       *Request
	literal view
	real    view // view of the canonical path
	linked  bool // whether literal and real differ
	// original is the view of the path in the checkout to which a path in a worktree
	// corresponds. Only deny and ask rules see it.
	original view

	mentions []*call  // one for each of Request.Mentions
	targets  []*call  // one for each of Request.Parts.Targets
	writable []folder // in an element of targets: the folders that may be written without asking
}

// view holds a path in the form that rules match.
type view struct {
	path   string
	names  []string // folded: see ospath.Style.Names
	below  [3]int   // by anchor: the number of names above the anchor; -1 if the path is not below it
	starts []int    // the same for relative deny and ask rules: working directory and roots
}

func (c *call) prepare(p *Policy, r *Request) {
	c.p, c.r = p, r
	for i := range r.Mentions {
		m := &call{}
		m.prepare(p, &Request{Tool: r.Tool, Aliases: r.Aliases, As: r.As, Dir: r.Dir, Target: &r.Mentions[i], Readable: r.Readable})
		c.mentions = append(c.mentions, m)
	}
	if r.Parts != nil {
		if r.Target != nil || r.Match != nil { // they are ignored if there are parts
			parts := *r
			parts.Target, parts.Match = nil, nil
			c.r = &parts
		}
		c.prepareParts()
		return
	}
	if r.Target == nil {
		return
	}
	dir := newFolder(r.Dir)
	c.real.set(p, dir, r.Target.Canonical)
	if path := p.original(r.Target.Canonical); path != "" {
		c.original.set(p, dir, path)
	}
	c.linked = paths.Clean(r.Target.Literal) != c.real.path
	if c.linked {
		c.literal.set(p, dir, r.Target.Literal)
	}
}

// prepareParts makes a call for each file that the parts name.
func (c *call) prepareParts() {
	parts := c.r.Parts
	readable := slices.Concat(c.r.Readable, parts.Readable)
	writable := folders(parts.Writable)
	if scratch := folders(parts.Scratch); c.p.preset && within(scratch, c.p.home.path) == "" {
		writable = append(writable, scratch...)
	}
	for i := range parts.Targets {
		t := &call{writable: writable}
		t.prepare(c.p, &Request{Tool: c.r.Tool, Aliases: c.r.Aliases, As: c.r.As, Dir: c.r.Dir, Target: &parts.Targets[i], Readable: readable, Links: c.r.Links})
		c.targets = append(c.targets, t)
	}
}

// set splits path for p and dir. It leaves v.path empty if path is not absolute.
func (v *view) set(p *Policy, dir folder, path string) {
	if !paths.IsAbs(path) {
		return
	}
	v.path = paths.Clean(path)
	v.names = paths.Names(v.path)
	v.below = [3]int{atDir: v.depthOf(dir), atFileSystem: 0, atHome: v.depthOf(p.home)}
	v.starts = make([]int, 0, 1+len(p.roots))
	v.start(v.below[atDir])
	for i := range p.roots {
		v.start(v.depthOf(p.roots[i]))
	}
	for i := range p.before {
		v.start(v.depthOf(p.before[i]))
	}
}

func (v *view) depthOf(f folder) int {
	if f.mayHold(v.path) {
		return f.depth
	}
	return -1
}

// start adds depth to starts unless it is negative or present. Different folders above
// one path have different depths.
func (v *view) start(depth int) {
	if depth < 0 {
		return
	}
	for _, d := range v.starts {
		if d == depth {
			return
		}
	}
	v.starts = append(v.starts, depth)
}

// covers reports whether p covers the path. If wide is true, a relative pattern
// applies below every root as well as below the working directory.
func (v *view) covers(p *pathPattern, wide bool) bool {
	if p.anchor == atDir && wide {
		for _, d := range v.starts {
			if p.covers(v.names[d:]) {
				return true
			}
		}
		return false
	}
	d := v.below[p.anchor]
	return d >= 0 && p.covers(v.names[d:])
}

// either reports whether p covers the path as written or the canonical path. It
// returns the path that is covered, preferring the path as written.
func (c *call) either(p *pathPattern) (path string, ok bool) {
	switch {
	case c.linked && c.literal.covers(p, true):
		return c.literal.path, true
	case c.real.covers(p, true):
		return c.real.path, true
	case c.original.path != "" && c.original.covers(p, true):
		return c.real.path, true
	}
	return "", false
}

// both reports whether p covers both the path as written and the canonical path. See
// covers for wide.
func (c *call) both(p *pathPattern, wide bool) bool {
	return c.real.covers(p, wide) && (!c.linked || c.literal.covers(p, wide))
}

// written returns the path of the call as written, cleaned.
func (c *call) written() string {
	if c.linked {
		return c.literal.path
	}
	return c.real.path
}

// each calls f with each name that rules may use for the tool, until f returns true.
func (c *call) each(f func(name string) bool) bool {
	if f(c.r.Tool) {
		return true
	}
	for _, alias := range c.r.Aliases {
		if f(alias) {
			return true
		}
	}
	return c.r.As != "" && f(c.r.As)
}

// belongs reports whether whole-tool rules on Read or Edit, as a selects, cover the
// call.
func (c *call) belongs(a Access) bool {
	return c.r.Target != nil && c.r.Target.Access == a ||
		c.each(func(name string) bool { return inFamily(name, a) })
}
