package policy

import "slices"

// kernelFolders hold what the kernel and its devices show as files: secrets of
// processes (this server's own environment among them), endless and blocking
// files, the terminal and the wire.
var kernelFolders = []string{"/proc", "/sys", "/dev"}

// Decide decides on a call: whether it may be done, and why.
//
// A rule "Tool" or "Tool(*)" covers every call of the tool; Read covers those
// of Grep, Glob and all else that reads a path as well, Edit those of Write,
// NotebookEdit and all else that changes one. "Tool(pattern)" covers what
// Request.Match says, except that Read(pattern) and Edit(pattern) cover paths,
// as PathPattern has it, for every tool:
//
//   - A deny or ask rule covers a path as written or the file it leads to. A
//     relative pattern holds below every root as well as below the working
//     directory, so that moving does not escape a rule.
//   - An allow rule has to cover both. A relative pattern holds below the
//     working directory only.
//   - A Read deny rule also covers changes of the path, an Edit allow rule also
//     reading it.
//
// Where no rule decides, a path below the roots is allowed, or one to read
// below Request.Readable, and so is a call without a path. Any other path is
// denied, and so is one below /proc, /sys and /dev unless an allow rule names
// it there, as in Read(//proc/cpuinfo).
func (p *Policy) Decide(r Request) Decision {
	if r.Tool == "" {
		return Decision{Layer: LayerDefault, Reason: "the call names no tool", Next: "name the tool to call"}
	}
	var c call
	c.prepare(p, &r)
	if r.Target != nil && (c.real.path == "" || c.written() == "") {
		return c.unresolved()
	}
	if m := p.lists[Deny].first(&c); m.rule != nil {
		return c.byRule(Deny, m)
	}
	if r.Target != nil {
		return c.decidePath()
	}
	return c.decideRest(p.lists[Ask].first(&c), p.lists[Allow].first(&c))
}

// decidePath decides on a path that no deny rule covers.
func (c *call) decidePath() Decision {
	if path, ok := c.inClosed(); ok {
		return c.inClosedFolder(path)
	}
	ask, allow := c.p.lists[Ask].first(c), c.p.lists[Allow].first(c)
	if path, ok := c.inKernel(); ok {
		if allow = c.p.lists[Allow].opening(c, true); allow.rule == nil {
			return c.inKernelFolder(path)
		}
	} else if !c.confined() {
		opened := c.p.lists[Allow].opening(c, false)
		if opened.rule == nil && c.p.lists[Ask].opening(c, false).rule == nil {
			return c.outside()
		}
		allow = opened
	}
	return c.decideRest(ask, allow)
}

// decideRest decides on a call that nothing forbids.
func (c *call) decideRest(ask, allow match) Decision {
	switch {
	case ask.rule != nil:
		return c.byRule(Ask, ask)
	case allow.rule != nil:
		return c.byRule(Allow, allow)
	default:
		return Decision{Behavior: Allow, Layer: LayerDefault, Reason: "no rule covers the call"}
	}
}

// CheckPath decides on a path alone: for every file that a search or listing
// touches, and again right before a file is opened. It is Decide without the
// tool's matcher, so a deny or ask rule such as Write(p) is judged by the path.
// An ask rule on the whole tool is an Ask here too, although Decide has said so
// before.
func (p *Policy) CheckPath(tool string, aliases []string, t Target, dir string, readable []string) Decision {
	return p.Decide(Request{Tool: tool, Aliases: aliases, Dir: dir, Target: &t, Readable: readable})
}

// DeniedTool reports whether a deny rule removes the whole tool: its bare name
// or Tool(*), also with a former name, or the server of the tool. A whole-tool
// rule on Read removes Grep and Glob too, and one on Edit removes Write and
// NotebookEdit, whose every call it would deny. A malformed rule removes
// nothing; it denies calls.
func (p *Policy) DeniedTool(name string, aliases []string) (rule, source string, denied bool) {
	l := &p.lists[Deny]
	var m match
	for _, n := range slices.Concat([]string{name}, aliases) {
		m.keep(l.whole[n], "")
		if a, ok := familyOf[n]; ok {
			m.keep(l.whole[a.String()], "")
		}
		for _, r := range l.servers {
			if r.broken == nil && r.names(n) {
				m.keep(r, "")
			}
		}
	}
	if m.rule == nil {
		return "", "", false
	}
	return m.rule.text, p.source, true
}

// confined reports whether the file the call leads to is where calls may go
// without a rule. How the path is written does not matter for that.
func (c *call) confined() bool {
	return within(c.p.roots, c.real.path) != "" || c.readable(c.real.path)
}

// readable reports whether the call may read a path by Request.Readable.
func (c *call) readable(path string) bool {
	return c.r.Target.Access == Read &&
		slices.ContainsFunc(c.r.Readable, func(dir string) bool { return newFolder(dir).holds(path) })
}

// inClosed reports whether the path as written or the file it leads to is in a
// closed folder, and which of the two.
func (c *call) inClosed() (path string, ok bool) {
	for _, path := range [...]string{c.written(), c.real.path} {
		if within(c.p.closed, path) != "" && !c.readable(path) {
			return path, true
		}
	}
	return "", false
}

// inKernel is inClosed for the folders of the kernel.
func (c *call) inKernel() (path string, ok bool) {
	for _, path := range [...]string{c.written(), c.real.path} {
		for _, dir := range kernelFolders {
			if holds(dir, path) {
				return path, true
			}
		}
	}
	return "", false
}

// namesKernel reports whether a pattern begins with the name of a folder of the
// kernel: //proc/..., not //** or a pattern that happens to match there.
func namesKernel(p *pathPattern) bool {
	return p.anchor == atFileSystem && len(p.segments) > 0 && p.segments[0].kind == exact &&
		slices.Contains(kernelFolders, "/"+p.segments[0].head)
}
