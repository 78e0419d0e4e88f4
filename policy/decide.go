package policy

import (
	"slices"
)

// kernelFolders lists folders in which the kernel and its devices appear as files.
// They hold secrets of processes (among them the environment of this server), endless
// and blocking files, the terminal, and the connection to the client.
var kernelFolders = []string{"/proc", "/sys", "/dev"}

// Decide decides whether a call may run, and why.
//
// A rule "Tool" or "Tool(*)" covers every call of the tool. Read also covers the calls
// of Grep, Glob and all other tools that read a path. Edit also covers the calls of
// Write, NotebookEdit and all other tools that change one.
//
// "Tool(pattern)" covers the calls that Request.Match reports. Two kinds of patterns
// are different. Read(pattern) and Edit(pattern) cover paths, as described at
// PathPattern, for every tool. Bash(pattern) covers commands; an allow rule of this
// form covers no PowerShell command, because PowerShell has rules of its own.
//
//   - A deny or ask rule applies if it covers the path as written or the canonical
//     path. A relative pattern applies below every root as well as below the working
//     directory, so that a change of directory does not escape a rule.
//   - An allow rule must cover both paths. A relative pattern applies below the
//     working directory only.
//   - A Read deny rule also covers changes of the path. An Edit allow rule also
//     covers reading it.
//   - A deny or ask rule covers a command if it covers any part of it, at any depth.
//     Allow rules must cover each part separately.
//
// The first of these layers that applies decides:
//
//  1. deny rules
//  2. closed and kernel folders, changes of this server's settings, and the tool's own deny
//  3. the user's decline
//  4. a hook's deny
//  5. the mode plan
//  6. ask rules, and the tool's own ask if it comes from a rule or the sandbox
//  7. a hook's ask
//  8. a command with unknown parts that a rule may cover: ask
//  9. a hook's allow
//  10. allow rules and the user's stored approvals
//  11. the modes acceptEdits and manual
//  12. the call itself: it is allowed if it only reads or stays where calls may go;
//     otherwise the user is asked, or the mode bypassPermissions allows it
func (p *Policy) Decide(r Request) Decision {
	var c call
	return p.unasked(c.opened(c.decide(p, &r)))
}

// unasked turns an ask decision into a deny in the mode dontAsk.
func (p *Policy) unasked(d Decision) Decision {
	if d.Behavior == Ask && p.mode == ModeDontAsk {
		d.Behavior, d.Layer = Deny, LayerMode // Open is unchanged: a classifier is asked first
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
	case (p.mode == ModePlan || p.planned) && !r.ReadOnly:
		return c.planned()
	}
	if m := p.lists[Ask].first(c); m.rule != nil {
		return c.byRule(Ask, m)
	}
	if r.Own != nil && r.Own.Behavior == Ask && (r.Own.Layer == LayerRule || r.Own.Layer == LayerSandbox) {
		return *r.Own // a rule on a resource the call uses, or a call that leaves the sandbox
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

// manual returns the question about a call that may change something. CheckPath does
// not use it, because a call that the user approved may open its files.
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

// byDefault decides a call that no earlier layer decides.
func (c *call) byDefault() Decision {
	concern := c.concern()
	switch {
	case c.p.mode == ModeAcceptEdits && c.onlyEdits():
		return c.acceptedEdits()
	case concern == nil && c.r.ReadOnly && !c.p.connections:
		return Decision{Behavior: Allow, Layer: LayerReadOnly, Reason: "it only reads, and no rule covers it"}
	case concern == nil && c.spared():
		return Decision{Behavior: Allow, Layer: LayerMode, Checkpoint: true, Reason: "all that it may destroy in the workspace can be undone"}
	case concern == nil:
		return Decision{Behavior: Allow, Layer: LayerDefault, Reason: c.unremarkable()}
	case c.p.mode == ModeBypass && !c.guarded():
		return c.bypassed()
	}
	concern.Behavior, concern.Open = Ask, true
	return *concern
}

// spared reports whether the call may destroy files that could all be restored.
func (c *call) spared() bool {
	return c.r.Parts != nil && c.r.Parts.Covered && slices.ContainsFunc(c.r.Parts.List, func(p Part) bool { return p.Destroys })
}

// AllowsCovered reports whether commands that only destroy files that could be restored are
// allowed without a question because of that: in the mode acceptEdits and by the settings. The
// mode bypassPermissions allows them in any case.
func (p *Policy) AllowsCovered() bool {
	return p.mode == ModeAcceptEdits || p.destructive && p.mode != ModeManual && p.mode != ModeBypass
}

// staysInside is the reason for allowing a path that no rule covers.
const staysInside = "it stays in the workspace, and no rule covers it"

// unremarkable returns the reason for allowing a call that nothing else decides.
// Commands that run without a sandbox raise a concern, so a command that gets here is
// sandboxed.
func (c *call) unremarkable() string {
	switch {
	case c.p.connections:
		return "package managers use this host, or your configuration names it, and no rule covers it"
	case c.r.Parts != nil:
		return "it stays in the workspace and is contained, and no rule covers it"
	case c.r.Target != nil:
		return staysInside
	}
	return "no rule covers it"
}

// allowing returns the first allow rule that covers the call. If the rule must lift a
// protection, only rules that can lift it count.
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

// forbidden denies what only a rule that names it can lift, or nothing can lift.
func (c *call) forbidden(allow match) (Decision, bool) {
	if c.r.Parts != nil {
		for _, t := range c.targets {
			if path, ok := t.inClosed(); ok {
				return t.inClosedFolder(path), true
			}
			if path, ok := t.inGuarded(); ok {
				return t.guardedFile(path), true
			}
			if path, ok := t.inFrozen(); ok && !c.r.Parts.Harmless {
				return t.frozenFile(path), true
			}
		}
		return Decision{}, false
	}
	if c.r.Site != nil {
		return c.forbiddenSite()
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
	if path, ok := c.inFrozen(); ok {
		return c.frozenFile(path), true
	}
	if path, ok := c.inKernel(); ok && allow.rule == nil {
		return c.inKernelFolder(path), true
	}
	// A link in the workspace that leads out of it may be a trap, so the call has to name the
	// target itself.
	if allow.rule == nil && c.linked && !c.confined() && maybeWithin(c.p.roots, c.literal.path) && c.p.mode != ModeBypass {
		return c.outside(), true
	}
	return Decision{}, false
}

// CheckPath decides on a path alone. Callers use it for every file that a search or
// listing touches, and again directly before opening a file. It works like Decide
// without the tool's matcher, hooks and approvals, so a deny or ask rule such as
// Write(p) is judged by the path. It returns Ask where Decide did, even if the user
// has approved the call.
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

// ordinary reports whether path is clean, in a root, not a secret, and in no closed or
// kernel folder.
func (p *Policy) ordinary(path string) bool {
	if paths.Clean(path) != path || within(p.roots, path) == "" || p.closes(path) {
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

// DeniedTool reports whether a deny rule removes the whole tool. The rule is the
// tool's bare name or Tool(*), the same with an alias, or a rule on the tool's server.
// A whole-tool rule on Read also removes Grep and Glob, one on Edit also removes Write
// and NotebookEdit, and one on Bash also removes BashReadOnly and PowerShell, because
// it would deny their every call. A malformed rule removes no tool; it denies calls.
// where is the place of the rule as FILE:LINE, safe to show.
func (p *Policy) DeniedTool(name string, aliases []string) (rule, where string, denied bool) {
	l := &p.lists[Deny]
	var m match
	for _, n := range slices.Concat([]string{name}, aliases) {
		m.replaceIfEarlier(l.whole[n], "")
		if a, ok := familyOf[n]; ok {
			m.replaceIfEarlier(l.whole[a.String()], "")
		}
		if isCommandTool(n) || isOtherShell(n) {
			m.replaceIfEarlier(l.whole[commandTools[0]], "")
		}
		for _, r := range l.servers {
			if r.broken == nil && r.names(n) {
				m.replaceIfEarlier(r, "")
			}
		}
	}
	if m.rule == nil {
		return "", "", false
	}
	return m.rule.text, m.rule.Origin.String(), true
}

// confined reports whether the canonical path is where calls may go without a rule.
// The path as written does not matter.
func (c *call) confined() bool {
	return c.r.Target.Free || within(c.p.roots, c.real.path) != "" || c.r.Target.Access == Read && c.p.frozen.holds(c.real.path) || c.readable(c.real.path) || within(c.writable, c.real.path) != ""
}

// readable reports whether Request.Readable lets the call read path.
func (c *call) readable(path string) bool {
	return c.r.Target.Access == Read &&
		slices.ContainsFunc(c.r.Readable, func(dir string) bool { return newFolder(dir).holds(path) })
}

// protected returns the protected name that the call would change, or "" if there is
// none.
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
	if name := c.p.program(c.real.path); name != "" {
		return name
	}
	return c.r.Links[c.real.path]
}

// belowRoot returns the names of a path below the root that contains it, or all names
// if no root does.
func (c *call) belowRoot(v *view) []string {
	for i := range c.p.roots {
		if d := v.depthOf(c.p.roots[i]); d >= 0 {
			return v.names[d:]
		}
	}
	return v.names
}

// inClosed reports whether the path as written or the canonical path is in a closed
// folder. It returns the path that is.
func (c *call) inClosed() (path string, ok bool) {
	for _, path := range [...]string{c.written(), c.real.path, c.original.path} {
		if c.p.closes(path) && !c.readable(path) {
			return path, true
		}
	}
	return "", false
}

// closes reports whether a closed folder holds a path, and no opened folder in it does.
func (p *Policy) closes(path string) bool {
	return slices.ContainsFunc(p.closed, func(f folder) bool {
		return f.mayHold(path) && !slices.ContainsFunc(p.opened, func(o folder) bool { return f.holds(o.path) && o.holds(path) })
	})
}

// inKernel is inClosed for kernelFolders, except for files that are Free.
func (c *call) inKernel() (path string, ok bool) {
	if c.r.Target.Free {
		return "", false
	}
	for _, path := range [...]string{c.written(), c.real.path} {
		for _, dir := range kernelFolders {
			if paths.MayHold(dir, path) {
				return path, true
			}
		}
	}
	return "", false
}

// namesKernel reports whether a pattern begins with the name of a kernel folder, such
// as //proc/... . Patterns such as //** that merely match there do not count.
func namesKernel(p *pathPattern) bool {
	return p.anchor == atFileSystem && p.bound == 0 && len(p.segments) > 0 && p.segments[0].kind == exact &&
		slices.Contains(kernelFolders, "/"+p.segments[0].head)
}
