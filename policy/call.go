package policy

import (
	"slices"
)

// call is one Request with its paths taken apart once, for all rules.
type call struct {
	p       *Policy
	r       *Request
	literal view
	real    view // of the canonical path
	linked  bool // literal and real differ

	targets  []*call  // of Request.Parts
	writable []folder // for one of targets: where it may write unasked
}

// view is a path as rules see it.
type view struct {
	path   string
	names  []string // folded: see ospath.Style.Names
	below  [3]int   // by anchor: how many names lie above it; -1: the path is not below it
	starts []int    // the same for a relative deny or ask rule: below the working directory and each root
}

func (c *call) prepare(p *Policy, r *Request) {
	c.p, c.r = p, r
	if r.Parts != nil {
		if r.Target != nil || r.Match != nil { // which do not count then
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
	c.linked = paths.Clean(r.Target.Literal) != c.real.path
	if c.linked {
		c.literal.set(p, dir, r.Target.Literal)
	}
}

// prepareParts makes a call of each file that the parts name.
func (c *call) prepareParts() {
	parts := c.r.Parts
	readable := slices.Concat(c.r.Readable, parts.Readable)
	writable := folders(parts.Writable)
	for i := range parts.Targets {
		t := &call{writable: writable}
		t.prepare(c.p, &Request{Tool: c.r.Tool, Aliases: c.r.Aliases, Dir: c.r.Dir, Target: &parts.Targets[i], Readable: readable, Links: c.r.Links})
		c.targets = append(c.targets, t)
	}
}

// set takes a path apart. A path that is not absolute leaves path "".
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
}

func (v *view) depthOf(f folder) int {
	if f.mayHold(v.path) {
		return f.depth
	}
	return -1
}

// start adds to starts. Depth tells folders above one path apart.
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

// covers reports whether a pattern covers the path. With wide, a relative
// pattern holds below every root as well as below the working directory.
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

// either reports whether a pattern covers the path as written or the file it
// leads to, and which of the two (written first).
func (c *call) either(p *pathPattern) (path string, ok bool) {
	switch {
	case c.linked && c.literal.covers(p, true):
		return c.literal.path, true
	case c.real.covers(p, true):
		return c.real.path, true
	}
	return "", false
}

// both reports whether a pattern covers the path as written and the file it
// leads to; wide is as in covers.
func (c *call) both(p *pathPattern, wide bool) bool {
	return c.real.covers(p, wide) && (!c.linked || c.literal.covers(p, wide))
}

// written is the clean path of the call as written.
func (c *call) written() string {
	if c.linked {
		return c.literal.path
	}
	return c.real.path
}

// each calls f with the names rules may use for the tool, until f returns true.
func (c *call) each(f func(name string) bool) bool {
	if f(c.r.Tool) {
		return true
	}
	for _, alias := range c.r.Aliases {
		if f(alias) {
			return true
		}
	}
	return false
}

// belongs reports whether whole-tool rules on Read, or on Edit, cover the call.
func (c *call) belongs(a Access) bool {
	return c.r.Target != nil && c.r.Target.Access == a ||
		c.each(func(name string) bool { return inFamily(name, a) })
}
