package policy

import (
	"regexp"
	"slices"
	"strings"
)

// match holds a rule that covers a call, and the path by which it does.
type match struct {
	rule *rule
	path string // the path that the rule covers; "" if it covers the call in another way
}

// replaceIfEarlier replaces the match if r is earlier in the settings than the present rule.
func (m *match) replaceIfEarlier(r *rule, path string) {
	if r != nil && m.earlier(r) {
		m.rule, m.path = r, path
	}
}

func (m *match) earlier(r *rule) bool { return m.rule == nil || r.order < m.rule.order }

// first returns the first rule of the list that covers the call.
func (l *list) first(c *call) match {
	var m match
	l.onTools(c, &m)
	for i := range c.mentions {
		if l.behavior != Allow {
			l.onPaths(c.mentions[i], &m)
		}
	}
	if c.r.Parts != nil {
		l.onParts(c, &m)
		return m
	}
	for i := 0; c.r.Typed != nil && l.behavior != Allow && i < len(c.r.Typed.List); i++ {
		l.commands.find(&m, &c.r.Typed.List[i], l.behavior)
	}
	l.onOwn(c, &m)
	if c.r.Target == nil {
		return m
	}
	l.onPaths(c, &m)
	return m
}

// onParts looks for deny or ask rules on any part of the call and on any file that it
// names. If a file's canonical path is unknown, rules match its path as written.
func (l *list) onParts(c *call, m *match) {
	for i := range c.r.Parts.List {
		l.onPart(c, &c.r.Parts.List[i], m)
	}
	for _, t := range c.targets {
		l.onPaths(t, m)
	}
}

// findPossible returns the first deny or ask rule that may cover a part that is not wholly
// known.
func (l *list) findPossible(c *call, p *Part) (m match) {
	l.commands.findPossible(&m, p)
	l.each(c, func(name string) bool {
		if x := l.others[name]; x != nil {
			x.findPossible(&m, p)
		}
		return false
	})
	return m
}

// findRun returns the first deny or ask rule that covers a command which another one may run.
func (l *list) findRun(c *call, text string, caseless bool) (m match) {
	p := Part{Text: text, Name: text, Caseless: caseless}
	l.commands.find(&m, &p, l.behavior)
	l.onAlias(c, &p, &m)
	return m
}

// onPart looks for rules on one part. Allow rules cover it only if it is Allowable.
func (l *list) onPart(c *call, p *Part, m *match) {
	if l.behavior == Allow && !p.Allowable {
		return
	}
	if l.behavior != Allow || !l.each(c, isOtherShell) {
		l.commands.find(m, p, l.behavior)
	}
	l.onAlias(c, p, m)
}

// onAlias looks for command rules under other names of the tool than Bash.
func (l *list) onAlias(c *call, p *Part, m *match) {
	l.each(c, func(name string) bool {
		if x := l.others[name]; x != nil {
			x.find(m, p, l.behavior)
		}
		return false
	})
}

// allParts returns the allow rule that covers every part of the call. That is a rule
// on the whole tool, or one rule for each part that no other part runs. A part that
// only reads needs no rule if the call raises no concern except those its allow rules
// cover. Rules of a preset cover no concern. The result is the first rule found for a part.
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
		m := l.covering(c, p)
		output, written := l.onOutputs(c, p)
		if m.rule == nil && !p.ReadOnly && !p.Reads || !written {
			return match{}
		}
		modest := m.rule == nil || m.rule.preset != nil
		uncovered = uncovered || modest || output.rule != nil && output.rule.preset != nil
		risky = risky || p.Risk != "" && modest
		for _, found := range []match{m, output} {
			if first.rule == nil {
				first = found
			}
		}
	}
	if first.rule == nil && c.p.preset && c.r.Own != nil {
		// All parts only read as they are written. A preset covers them beside a command that does nothing, so also alone.
		if m := l.covering(c, &Part{Text: "true", Name: "true", Allowable: true}); m.rule != nil && m.rule.preset != nil {
			first = m
		}
	}
	if uncovered && (risky || c.targetsConcern() != nil) || c.inputConcern() {
		return match{}
	}
	return c.lifted(first)
}

// covering returns an allow rule that covers a part.
func (l *list) covering(c *call, p *Part) (m match) {
	if l.onPart(c, p, &m); m.rule == nil {
		m = l.ofPreset(c, p)
	}
	return m
}

// output returns the part whose rules allow a redirect to a file.
func output(name string) *Part { return &Part{Text: "tee " + name, Allowable: true, Edits: true} }

// ofPreset returns the rule of a preset that covers a part whose program is named by a path in a
// root, which names a folder in a root to work in, which another program only starts, which asks a
// program for its version, or which is Repeated.
func (l *list) ofPreset(c *call, p *Part) (m match) {
	program, rest, _ := strings.Cut(p.Text, " ")
	short := *p
	short.Allowable, short.Repeated = p.Allowable || p.Repeated, false
	if short.Text = started(p.Text); short.Text != p.Text || p.Repeated {
		if m = l.covering(c, &short); m.rule == nil || m.rule.preset == nil {
			return match{}
		}
		return m
	}
	if root := within(c.p.roots, program); root != "" && program != root {
		short.Text = strings.TrimSpace("./" + strings.TrimPrefix(strings.TrimPrefix(program, root), "/") + " " + rest)
	} else if (rest == "--version" || rest == "--help") && !strings.ContainsAny(program, "/.~") {
		short.Text = rest
	} else if words := strings.SplitN(rest, " ", 3); len(words) == 3 && slices.Contains(workFlags[program], words[0]) && c.inside(words[1]) {
		short.Text = program + " " + words[2]
	} else {
		return match{}
	}
	if l.onPart(c, &short, &m); m.rule == nil || m.rule.preset == nil {
		return match{}
	}
	return m
}

// starters matches the programs that only start another one, with the words before its name: they
// decide how long it runs, how fast, or when its output appears.
var starters = regexp.MustCompile(`^(timeout( (-k|-s|--kill-after|--signal) ?=?[A-Za-z0-9.]+| -v| --foreground| --preserve-status)* [0-9.]+[smhd]?|nohup|nice( -n ?-?[0-9]+| -[0-9]+)?|stdbuf( -[ioe] ?[0-9A-Z]+)+) `)

// started returns the command that the starters of a command start.
func started(text string) string {
	for {
		head := starters.FindString(text)
		if head == "" || strings.HasPrefix(text[len(head):], "-") {
			return text
		}
		text = text[len(head):]
	}
}

// workFlags lists the flags of programs that name the folder to work in.
var workFlags = map[string][]string{
	"git": {"-C"}, "make": {"-C"}, "npm": {"--prefix", "-C"}, "pnpm": {"-C", "--dir"}, "yarn": {"--cwd"}, "bun": {"--cwd"}, "uv": {"--directory", "--project"}, "go": {"-C"},
}

// inside reports whether a folder as written is in a root.
func (c *call) inside(dir string) bool {
	if !paths.IsAbs(dir) {
		dir = paths.Join(c.r.Dir, dir)
	}
	return within(c.p.roots, paths.Clean(dir)) != ""
}

// onOutputs returns an allow rule that covers a file that a redirect of the part writes, one of a
// preset if there is one. all reports whether rules cover all such files.
func (l *list) onOutputs(c *call, p *Part) (m match, all bool) {
	for _, name := range p.Outputs {
		found := l.covering(c, output(name))
		if found.rule == nil {
			return match{}, false
		}
		if m.rule == nil || found.rule.preset != nil {
			m = found
		}
	}
	return m, true
}

// lifted returns m if it may allow the call. Allow rules on commands do not lift the
// protection of names; only rules on paths do.
func (c *call) lifted(m match) match {
	for _, t := range c.targets {
		if t.protected() != "" && c.p.lists[Allow].opening(t, t.opener()).rule == nil {
			return match{}
		}
	}
	return m
}

// each is call.each without the names that allow rules must not use.
func (l *list) each(c *call, f func(name string) bool) bool {
	if l.behavior == Allow && c.r.As != "" {
		return f(c.r.As)
	}
	return c.each(f)
}

// onPaths looks for path rules.
func (l *list) onPaths(c *call, m *match) {
	covers := func(r *rule) (string, bool) { return c.either(r.path) }
	if l.behavior == Allow {
		covers = func(r *rule) (string, bool) { return c.real.path, c.both(r.path, false) }
	}
	for _, a := range l.concerned(c.r.Target.Access) {
		l.paths[a].find(m, covers, c.real.names, c.literal.names)
		if c.original.path != "" && l.behavior != Allow {
			l.paths[a].find(m, covers, c.original.names, nil)
		}
	}
}

// concerned returns the accesses whose path rules apply to access a. A denied read
// also denies a change, and an allowed change also allows reading.
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
	l.each(c, func(name string) bool {
		if !c.p.connections {
			m.replaceIfEarlier(l.whole[name], "")
		}
		m.replaceIfEarlier(l.broken[name], "")
		for _, r := range l.servers {
			if r.names(name) {
				m.replaceIfEarlier(r, "")
			}
		}
		return false
	})
	if l.each(c, isCommandTool) || l.behavior != Allow && l.each(c, isOtherShell) {
		m.replaceIfEarlier(l.whole[commandTools[0]], "")
		m.replaceIfEarlier(l.broken[commandTools[0]], "")
	}
	for _, a := range [...]Access{Read, Edit} {
		if c.belongs(a) {
			m.replaceIfEarlier(l.whole[a.String()], "")
			m.replaceIfEarlier(l.broken[a.String()], "")
		}
	}
}

// onOwn looks for Tool(pattern) rules of the tool.
func (l *list) onOwn(c *call, m *match) {
	l.each(c, func(name string) bool {
		m.search(l.own[name], func(r *rule) (string, bool) { return l.coversOwn(c, r) })
		return false
	})
}

// coversOwn reports whether the rule covers the call, according to the tool's matcher.
// If the call has a path, a deny or ask rule is also tried as a path pattern, because
// a matcher knows only the path as written. A deny or ask rule that can be judged
// neither way applies.
func (l *list) coversOwn(c *call, r *rule) (path string, ok bool) {
	hasPath := c.r.Target != nil
	switch {
	case hasPath && r.onPaths():
		return "", false // judged as a path rule, under any name of the tool
	case c.r.Site != nil && r.site != nil:
		return "", r.site.Covers(*c.r.Site)
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

// opening returns the first path rule that lifts a restriction on the call's path.
// Such a rule covers both the path as written and the canonical path, and may accepts
// its pattern. A nil may accepts any pattern.
func (l *list) opening(c *call, may func(*pathPattern) bool) match {
	var m match
	for _, a := range l.concerned(c.r.Target.Access) {
		l.paths[a].find(&m, func(r *rule) (string, bool) {
			return c.real.path, r.broken == nil && (may == nil || may(r.path)) && c.both(r.path, false)
		}, c.real.names, nil)
	}
	return m
}
