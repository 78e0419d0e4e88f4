package policy

// match is a rule that covers a call, and how.
type match struct {
	rule *rule
	path string // the path that the rule covers; "" when it covers the call otherwise
}

// keep takes a match if it stands earlier in the list than the one so far.
func (m *match) keep(r *rule, path string) {
	if r != nil && m.earlier(r) {
		m.rule, m.path = r, path
	}
}

func (m *match) earlier(r *rule) bool { return m.rule == nil || r.order < m.rule.order }

// first is the first rule of the list that covers the call.
func (l *list) first(c *call) match {
	var m match
	l.onTools(c, &m)
	if c.r.Parts != nil {
		l.onParts(c, &m)
		return m
	}
	l.onOwn(c, &m)
	if c.r.Target == nil {
		return m
	}
	l.onPaths(c, &m)
	return m
}

// onParts looks for deny or ask rules on any command of the call, and on any
// file that is named. One of which nobody knows where it leads is covered by its name.
func (l *list) onParts(c *call, m *match) {
	for i := range c.r.Parts.List {
		l.onPart(c, &c.r.Parts.List[i], m)
	}
	for _, t := range c.targets {
		l.onPaths(t, m)
	}
}

// perhaps is the first deny or ask rule that may cover a part of the call which
// is not wholly known.
func (l *list) perhaps(c *call, p *Part) (m match) {
	l.commands.perhaps(&m, p)
	c.each(func(name string) bool {
		if x := l.others[name]; x != nil {
			x.perhaps(&m, p)
		}
		return false
	})
	return m
}

// onPart looks for rules on one command. Of those that allow, it has to be
// Allowable.
func (l *list) onPart(c *call, p *Part, m *match) {
	if l.behavior == Allow && !p.Allowable {
		return
	}
	if l.behavior != Allow || !c.each(isOtherShell) {
		l.commands.find(m, p, l.behavior)
	}
	l.onAlias(c, p, m)
}

// onAlias looks for rules with another name of the tool than those of commands.
func (l *list) onAlias(c *call, p *Part, m *match) {
	c.each(func(name string) bool {
		if x := l.others[name]; x != nil {
			x.find(m, p, l.behavior)
		}
		return false
	})
}

// allParts is the allow rule that covers every part of the call: one on the
// whole tool, or for each part that is not run by another one, one that covers
// it. A part that only reads needs none, if nothing speaks against the call but
// what the rules allow. The rule of the first part that has one stands for all.
func (l *list) allParts(c *call) match {
	var first match
	if l.onTools(c, &first); first.rule != nil {
		return c.lifted(first)
	}
	parts := c.r.Parts
	if parts.Unresolved != "" {
		return match{}
	}
	uncovered, risky := false, false
	for i := range parts.List {
		p := &parts.List[i]
		if p.Inner {
			risky = risky || p.Risk != ""
			continue
		}
		var m match
		l.onPart(c, p, &m)
		switch {
		case m.rule == nil && !p.ReadOnly:
			return match{}
		case m.rule == nil:
			uncovered = true
		case first.rule == nil:
			first = m
		}
		risky = risky || p.Risk != "" && m.rule == nil
	}
	if uncovered && (risky || c.targetsConcern() != nil) || c.inputConcern() {
		return match{}
	}
	return c.lifted(first)
}

// lifted is what an allow rule on commands is worth: it does not lift the
// protection of names, which rules on paths do.
func (c *call) lifted(m match) match {
	for _, t := range c.targets {
		if t.protected() != "" && c.p.lists[Allow].opening(t, namesProtected).rule == nil {
			return match{}
		}
	}
	return m
}

// onPaths looks for path rules.
func (l *list) onPaths(c *call, m *match) {
	covers := func(r *rule) (string, bool) { return c.either(r.path) }
	if l.behavior == Allow {
		covers = func(r *rule) (string, bool) { return c.real.path, c.both(r.path, false) }
	}
	for _, a := range l.concerned(c.r.Target.Access) {
		l.paths[a].find(m, covers, c.real.names, c.literal.names)
	}
}

// concerned says which path rules concern an access. Who may not read a file
// may not change it, and who may change one may read it.
func (l *list) concerned(a Access) []Access {
	switch {
	case l.behavior == Deny && a == Edit, l.behavior == Allow && a == Read:
		return []Access{Read, Edit}
	default:
		return []Access{a}
	}
}

// onTools looks for rules that need only the name of the tool.
func (l *list) onTools(c *call, m *match) {
	c.each(func(name string) bool {
		m.keep(l.whole[name], "")
		m.keep(l.broken[name], "")
		for _, r := range l.servers {
			if r.names(name) {
				m.keep(r, "")
			}
		}
		return false
	})
	if c.each(isCommandTool) || l.behavior != Allow && c.each(isOtherShell) {
		m.keep(l.whole[commandTools[0]], "")
		m.keep(l.broken[commandTools[0]], "")
	}
	for _, a := range [...]Access{Read, Edit} {
		if c.belongs(a) {
			m.keep(l.whole[a.String()], "")
			m.keep(l.broken[a.String()], "")
		}
	}
}

// onOwn looks for Tool(pattern) rules of the tool.
func (l *list) onOwn(c *call, m *match) {
	c.each(func(name string) bool {
		m.search(l.own[name], func(r *rule) (string, bool) { return l.coversOwn(c, r) })
		return false
	})
}

// coversOwn asks the tool's matcher. A deny or ask rule is taken for a path
// pattern too when the call has a path, since a matcher knows the path as
// written only; and without either it cannot be judged, so it holds.
func (l *list) coversOwn(c *call, r *rule) (path string, ok bool) {
	hasPath := c.r.Target != nil
	switch {
	case hasPath && r.onPaths():
		return "", false // judged as a path rule, whatever the name of the tool
	case c.r.Match != nil && c.r.Match(l.behavior, r.pattern):
		return "", true
	case l.behavior == Allow:
		return "", false
	case hasPath:
		if r.path == nil {
			return "", false
		}
		return c.either(r.path)
	default:
		return "", c.r.Match == nil
	}
}

// opening is the first path rule of the list that lifts something that holds
// for the call's path: it covers the path as written and the file it leads to,
// and is one that may, nil: any.
func (l *list) opening(c *call, may func(*pathPattern) bool) match {
	var m match
	for _, a := range l.concerned(c.r.Target.Access) {
		l.paths[a].find(&m, func(r *rule) (string, bool) {
			return c.real.path, r.broken == nil && (may == nil || may(r.path)) && c.both(r.path, false)
		}, c.real.names, nil)
	}
	return m
}
