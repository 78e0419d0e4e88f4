package policy

import (
	"slices"
)

// secret reports whether the canonical path or the path as written may hold
// credentials, and why. In files that the session may read or write without a rule, it
// considers only secrets that are Known. What is absent can show none.
func (c *call) secret() (Secret, bool) {
	if c.p.secrets == nil || c.r.Target == nil || c.r.Target.Absent && c.r.Target.Access == Read {
		return Secret{}, false
	}
	for _, path := range [...]string{c.real.path, c.written()} {
		s, ok := c.p.secrets.Secret(path)
		if ok && (s.Known || !c.r.Target.Free && !c.readable(path) && within(c.writable, path) == "") {
			return s, true
		}
		if !c.linked {
			break
		}
	}
	return Secret{}, false
}

// SecretPath reports whether a search must leave out the file with this canonical
// path, because it may hold credentials and no rule allows reading it. It also returns
// the decision on the path.
func (p *Policy) SecretPath(tool string, aliases []string, path, dir string, readable []string) (Decision, bool) {
	if p.secrets == nil {
		return Decision{}, false
	}
	if _, ok := p.secrets.Secret(path); !ok {
		return Decision{}, false
	}
	d := p.CheckPath(tool, aliases, Target{Literal: path, Canonical: path}, dir, readable)
	return d, d.Behavior == Ask && d.Secret
}

// Credentials reports whether the file with this canonical path may hold credentials,
// regardless of rules.
func (p *Policy) Credentials(path string) bool {
	if p.secrets == nil {
		return false
	}
	_, ok := p.secrets.Secret(path)
	return ok
}

// SecretsBelow reports whether SecretPath may return true for a file in a folder. The
// folder must be a canonical path.
func (p *Policy) SecretsBelow(folder string) bool { return p.secrets != nil && p.secrets.Below(folder) }

// secretConcern returns the concern about credentials in the file.
func (c *call) secretConcern(s Secret) *Decision {
	path := c.real.path
	return &Decision{
		Layer: LayerPath, Secret: true, Reason: c.by(path, "may hold credentials ("+s.Reason+")"), Next: c.ruleFor(path),
	}
}

// namesSecret returns a function that reports whether a pattern contains the name of
// secret s, or of a component of the call's path below it.
func (c *call) namesSecret(s Secret) func(*pathPattern) bool {
	var all []string
	for _, path := range [...]string{c.real.path, c.written()} {
		if depth := paths.Depth(s.Path); depth > 0 && paths.MayHold(s.Path, path) {
			all = append(all, paths.Names(path)[depth-1:]...)
		}
	}
	return func(p *pathPattern) bool {
		return slices.ContainsFunc(p.segments[p.bound:], func(s segment) bool { return s.kind == exact && slices.Contains(all, s.head) })
	}
}

// must returns the condition that the pattern of an allow rule has to meet to lift the
// restrictions on the call's path. The condition is nil if any pattern will do. lifts
// reports whether there is a restriction to lift.
func (c *call) must() (may func(*pathPattern) bool, lifts bool) {
	if _, kernel := c.inKernel(); kernel {
		return namesKernel, true
	}
	s, secret := c.secret()
	protected := c.confined() && c.protected() != ""
	switch {
	case secret && protected:
		names, named := c.namesSecret(s), c.opener()
		return func(p *pathPattern) bool { return named(p) && names(p) }, true
	case secret:
		return c.namesSecret(s), true
	case protected:
		return c.opener(), true
	}
	return nil, !c.confined()
}
