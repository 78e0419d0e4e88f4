package policy

import (
	"slices"
)

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
// as PathPattern has it, for every tool, and Bash(pattern) covers commands, an
// allow rule none of PowerShell, which has rules of its own:
//
//   - A deny or ask rule covers a path as written or the file it leads to. A
//     relative pattern holds below every root as well as below the working
//     directory, so that moving does not escape a rule.
//   - An allow rule has to cover both. A relative pattern holds below the
//     working directory only.
//   - A Read deny rule also covers changes of the path, an Edit allow rule also
//     reading it.
//   - A deny or ask rule covers a command if it covers any part of it, at any
//     depth; allow rules have to cover each part by itself.
//
// The first of these that has something to say decides: deny rules; closed and
// kernel folders, changes of this server's settings, and the tool's own no;
// what a person declined; a hook's deny; the mode plan; ask rules; a hook's ask;
// a command with parts that are not known and that a rule may cover; a hook's
// allow; allow rules and what a person always allows; the modes acceptEdits and
// manual; and last what the call is: one that only reads or stays where calls may
// go is allowed, any other is asked about, or allowed in the mode
// bypassPermissions.
func (p *Policy) Decide(r Request) Decision {
	var c call
	return p.unasked(c.opened(c.decide(p, &r)))
}

// unasked denies what would be asked about in the mode dontAsk.
func (p *Policy) unasked(d Decision) Decision {
	if d.Behavior == Ask && p.mode == ModeDontAsk {
		d.Behavior, d.Layer = Deny, LayerMode // still Open: a classifier is asked first
		d.Reason += "; the mode dontAsk denies what would be asked about"
	}
	return d
}

func (c *call) decide(p *Policy, r *Request) Decision {
	if r.Tool == "" {
		return Decision{Layer: LayerDefault, Reason: "the call names no tool", Next: "name the tool to call"}
	}
	c.prepare(p, r)
	if c.r.Target != nil && (c.real.path == "" || c.written() == "") {
		return c.unresolved()
	}
	if m := p.lists[Deny].first(c); m.rule != nil {
		return c.byRule(Deny, m)
	}
	allow := c.allowing()
	switch d, forbidden := c.forbidden(allow); {
	case forbidden:
		return d
	case r.Own != nil && r.Own.Behavior == Deny:
		return c.byTool()
	case r.Declined:
		return c.r.Refused()
	case r.Hook != nil && r.Hook.Behavior == Deny:
		return c.byHook()
	case p.mode == ModePlan && !r.ReadOnly:
		return c.planned()
	}
	if m := p.lists[Ask].first(c); m.rule != nil {
		return c.byRule(Ask, m)
	}
	if r.Own != nil && r.Own.Behavior == Ask && (r.Own.Layer == LayerRule || r.Own.Layer == LayerSandbox) {
		return *r.Own // a rule on what the call reaches, or a call that leaves the containment
	}
	if r.Hook != nil && r.Hook.Behavior == Ask {
		return c.byHook()
	}
	switch unknown := c.unknownParts(); {
	case unknown != nil:
		return *unknown
	case r.Hook != nil:
		return c.byHook()
	case allow.rule != nil:
		return c.byRule(Allow, allow)
	case r.Always:
		return Decision{Behavior: Allow, Layer: LayerApproval, Reason: "the user always allows exactly this"}
	}
	if p.mode == ModeManual && c.mayChange() {
		return c.manual()
	}
	return c.byDefault()
}

// mayChange reports whether the call may change something.
func (c *call) mayChange() bool {
	return !c.r.ReadOnly && (c.r.Parts == nil || !c.r.Parts.Harmless)
}

// manual asks about a call that may change something. It is not part of
// CheckPath: a call that the user agreed to may open its files.
func (c *call) manual() Decision {
	d := c.concern()
	if d == nil {
		d = &Decision{
			Layer: LayerMode, Reason: manually,
			Next: "ask the user to do it, or to add an allow rule to " + c.file(),
		}
	}
	d.Behavior, d.Open = Ask, true
	return *d
}

// byDefault decides on a call that nothing else decides.
func (c *call) byDefault() Decision {
	concern := c.concern()
	switch {
	case c.p.mode == ModeAcceptEdits && c.onlyEdits():
		return c.acceptedEdits()
	case concern == nil && c.r.ReadOnly:
		return Decision{Behavior: Allow, Layer: LayerReadOnly, Reason: "it only reads, and no rule covers it"}
	case concern == nil:
		return Decision{Behavior: Allow, Layer: LayerDefault, Reason: c.unremarkable()}
	case c.p.mode == ModeBypass && !c.guarded():
		return c.bypassed()
	}
	concern.Behavior, concern.Open = Ask, true
	return *concern
}

// staysInside is why a path is allowed that no rule covers.
const staysInside = "it stays in the workspace, and no rule covers it"

// unremarkable words why a call is allowed that nothing else decides on. Commands
// without containment are a concern, so that such a command is contained.
func (c *call) unremarkable() string {
	switch {
	case c.r.Parts != nil:
		return "it stays in the workspace and is contained, and no rule covers it"
	case c.r.Target != nil:
		return staysInside
	}
	return "no rule covers it"
}

// allowing is the first allow rule that covers the call, where it has to lift
// something one that may.
func (c *call) allowing() match {
	l := &c.p.lists[Allow]
	if c.r.Parts != nil {
		return l.allParts(c)
	}
	if c.r.Target == nil {
		return l.first(c)
	}
	if may, lifts := c.must(); lifts {
		return l.opening(c, may)
	}
	return l.first(c)
}

// forbidden decides on what nothing but a rule that names it can lift.
func (c *call) forbidden(allow match) (Decision, bool) {
	if c.r.Parts != nil {
		for _, t := range c.targets {
			if path, ok := t.inClosed(); ok {
				return t.inClosedFolder(path), true
			}
			if path, ok := t.inGuarded(); ok {
				return t.guardedFile(path), true
			}
		}
		return Decision{}, false
	}
	if c.r.Target == nil {
		return Decision{}, false
	}
	if path, ok := c.inClosed(); ok {
		return c.inClosedFolder(path), true
	}
	if path, ok := c.inGuarded(); ok {
		return c.guardedFile(path), true
	}
	if path, ok := c.inKernel(); ok && allow.rule == nil {
		return c.inKernelFolder(path), true
	}
	// A link of the workspace that leads out of it may be somebody's trap: what
	// is meant has to be named.
	if allow.rule == nil && c.linked && !c.confined() && maybeWithin(c.p.roots, c.literal.path) && c.p.mode != ModeBypass {
		return c.outside(), true
	}
	return Decision{}, false
}

// CheckPath decides on a path alone: for every file that a search or listing
// touches, and again right before a file is opened. It is Decide without the
// tool's matcher, hooks and persons, so a deny or ask rule such as Write(p) is
// judged by the path. What Decide has asked about is an Ask here too.
func (p *Policy) CheckPath(tool string, aliases []string, t Target, dir string, readable []string) Decision {
	if p.readsFreely && t.Access == Read && t.Literal == t.Canonical && p.ordinary(t.Canonical) {
		return Decision{Behavior: Allow, Layer: LayerDefault, Reason: staysInside}
	}
	r := Request{Tool: tool, Aliases: aliases, Dir: dir, Target: &t, Readable: readable}
	var c call
	c.prepare(p, &r)
	if c.real.path == "" || c.written() == "" {
		return c.unresolved()
	}
	if m := p.lists[Deny].first(&c); m.rule != nil {
		return c.byRule(Deny, m)
	}
	allow := c.allowing()
	if d, forbidden := c.forbidden(allow); forbidden {
		return d
	}
	if m := p.lists[Ask].first(&c); m.rule != nil {
		return c.byRule(Ask, m)
	}
	if allow.rule != nil {
		return c.byRule(Allow, allow)
	}
	return c.byDefault()
}

// ordinary reports whether a path is a clean one in a root, no secret, and in no
// folder that is closed or the kernel's.
func (p *Policy) ordinary(path string) bool {
	if paths.Clean(path) != path || within(p.roots, path) == "" || maybeWithin(p.closed, path) {
		return false
	}
	if slices.ContainsFunc(kernelFolders, func(dir string) bool { return paths.MayHold(dir, path) }) {
		return false
	}
	if p.secrets == nil {
		return true
	}
	_, secret := p.secrets.Secret(path)
	return !secret
}

// DeniedTool reports whether a deny rule removes the whole tool: its bare name
// or Tool(*), also with a former name, or the server of the tool. A whole-tool
// rule on Read removes Grep and Glob too, one on Edit removes Write and
// NotebookEdit, and one on Bash BashReadOnly and PowerShell, whose every call it would deny. A malformed rule removes
// nothing; it denies calls. where is the place of the rule as FILE:LINE, safe to
// show.
func (p *Policy) DeniedTool(name string, aliases []string) (rule, where string, denied bool) {
	l := &p.lists[Deny]
	var m match
	for _, n := range slices.Concat([]string{name}, aliases) {
		m.keep(l.whole[n], "")
		if a, ok := familyOf[n]; ok {
			m.keep(l.whole[a.String()], "")
		}
		if isCommandTool(n) || isOtherShell(n) {
			m.keep(l.whole[commandTools[0]], "")
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
	return m.rule.text, m.rule.origin.String(), true
}

// confined reports whether the file the call leads to is where calls may go
// without a rule. How the path is written does not matter for that.
func (c *call) confined() bool {
	return within(c.p.roots, c.real.path) != "" || c.readable(c.real.path) || within(c.writable, c.real.path) != ""
}

// readable reports whether the call may read a path by Request.Readable.
func (c *call) readable(path string) bool {
	return c.r.Target.Access == Read &&
		slices.ContainsFunc(c.r.Readable, func(dir string) bool { return newFolder(dir).holds(path) })
}

// protected is the protected name that a call would change, "" if none.
func (c *call) protected() string {
	if c.r.Target.Access != Edit {
		return ""
	}
	if name := protected(c.belowRoot(&c.real)); name != "" {
		return name
	}
	if name := protected(c.belowRoot(&c.literal)); name != "" {
		return name
	}
	return c.r.Links[c.real.path]
}

// belowRoot is the names of a path below the root that it is in, all of them if
// it is in none.
func (c *call) belowRoot(v *view) []string {
	for i := range c.p.roots {
		if d := v.depthOf(c.p.roots[i]); d >= 0 {
			return v.names[d:]
		}
	}
	return v.names
}

// inClosed reports whether the path as written or the file it leads to is in a
// closed folder, and which of the two.
func (c *call) inClosed() (path string, ok bool) {
	for _, path := range [...]string{c.written(), c.real.path} {
		if maybeWithin(c.p.closed, path) && !c.readable(path) {
			return path, true
		}
	}
	return "", false
}

// inKernel is inClosed for the folders of the kernel.
func (c *call) inKernel() (path string, ok bool) {
	for _, path := range [...]string{c.written(), c.real.path} {
		for _, dir := range kernelFolders {
			if paths.MayHold(dir, path) {
				return path, true
			}
		}
	}
	return "", false
}

// namesKernel reports whether a pattern begins with the name of a folder of the
// kernel: //proc/..., not //** or a pattern that happens to match there.
func namesKernel(p *pathPattern) bool {
	return p.anchor == atFileSystem && p.bound == 0 && len(p.segments) > 0 && p.segments[0].kind == exact &&
		slices.Contains(kernelFolders, "/"+p.segments[0].head)
}
