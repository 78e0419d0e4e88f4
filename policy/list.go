package policy

import "strings"

// list indexes the rules of permissions.deny, ask or allow by what they are compared
// with.
type list struct {
	behavior Behavior
	whole    map[string]*rule         // the first rule on each whole tool
	servers  []*rule                  // rules on all tools of a server
	broken   map[string]*rule         // the first malformed rule on each tool; empty in an allow list
	paths    [2]pathIndex             // Read(p) and Edit(p), by Access
	own      map[string][]*rule       // Tool(pattern) by tool; Read and Edit too, for calls without a path
	commands commandIndex             // Bash(pattern)
	others   map[string]*commandIndex // Tool(pattern) of other tools, by tool name
}

// newList indexes rules. A malformed deny or ask rule covers everything it could have
// meant, and so does one whose anchor is unknown to p. An allow rule of this kind is
// left out.
func newList(p *Policy, b Behavior, rules []rule) list {
	l := list{behavior: b, whole: map[string]*rule{}, broken: map[string]*rule{}, own: map[string][]*rule{}}
	var paths [2][]*rule
	for i := range rules {
		r := rules[i] // a copy, because other Policies may use the Settings
		if r.broken == nil && r.onFiles() && !p.hasAnchor(r.path.anchor) {
			r.broken = errNoAnchor
		}
		if r.broken != nil && !l.widen(&r) {
			continue
		}
		l.add(&r)
		if name := spelling(r.tool); name != r.tool {
			called := r
			called.tool = name
			l.add(&called)
		}
		if !r.onPaths() {
			continue
		}
		access := Edit
		if r.tool == Read.String() {
			access = Read
		}
		paths[access] = append(paths[access], &r)
		if b == Allow {
			continue // a name in another Unicode form is another file
		}
		for _, form := range r.path.forms() {
			same := r
			same.path = form
			paths[access] = append(paths[access], &same)
		}
	}
	l.paths = [2]pathIndex{newPathIndex(paths[Read]), newPathIndex(paths[Edit])}
	return l
}

// widen makes a malformed rule cover everything it could have meant. It reports whether
// the rule covers anything.
func (l *list) widen(r *rule) bool {
	r.path = everything
	return l.behavior != Allow && (r.tool != "" || r.prefix)
}

// add indexes a rule by the name of its tool.
func (l *list) add(r *rule) {
	switch {
	case r.prefix:
		l.servers = append(l.servers, r)
	case r.broken != nil:
		if l.broken[r.tool] == nil {
			l.broken[r.tool] = r
		}
	case r.whole:
		if l.whole[r.tool] == nil {
			l.whole[r.tool] = r
		}
	default:
		l.own[r.tool] = append(l.own[r.tool], r)
		l.addCommand(r)
	}
}

// addCommand indexes the pattern of a rule, for calls with Parts. A rule on Bash
// covers the commands of every command tool.
func (l *list) addCommand(r *rule) {
	r.command, r.folded = compileCommand(r.pattern), compileCommand(strings.ToLower(r.pattern))
	if r.tool == commandTools[0] {
		l.commands.add(r)
		return
	}
	if l.others == nil {
		l.others = map[string]*commandIndex{}
	}
	if l.others[r.tool] == nil {
		l.others[r.tool] = &commandIndex{}
	}
	l.others[r.tool].add(r)
}

// onEdits reports whether there are path rules on changes of files.
func (l *list) onEdits() bool {
	x := &l.paths[Edit]
	return len(x.byName)+len(x.rest) > 0
}

// onFiles reports whether there are path rules at all.
func (l *list) onFiles() bool {
	x := &l.paths[Read]
	return l.onEdits() || len(x.byName)+len(x.rest) > 0
}

// onCommands reports whether there are pattern rules on commands of the call's tool.
func (l *list) onCommands(c *call) bool {
	return len(l.commands.byWord)+len(l.commands.rest) > 0 || c.each(func(name string) bool { return l.others[name] != nil })
}

// onOthers reports whether there are rules on anything but commands. Path rules count,
// because they are in own as well.
func (l *list) onOthers() bool {
	own := len(l.own)
	for _, tool := range commandTools {
		if len(l.own[tool]) > 0 {
			own--
		}
	}
	whole := len(l.whole)
	for _, tool := range commandTools {
		if l.whole[tool] != nil {
			whole--
		}
	}
	return own+whole+len(l.servers)+len(l.broken) > 0
}
