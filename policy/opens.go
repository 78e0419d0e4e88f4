package policy

// Files outside of the workspace that a command may use. The sandbox grants access to
// these files only.

// opens returns the files that the call names and that need a grant: those outside of
// the workspace or under a protected name. If named is true, it returns only those
// that an allow rule on paths covers, because a rule on commands allows the command
// only inside its sandbox. A harmless call changes nothing, so it needs no grants for
// changes.
func (c *call) opens(named bool) (out []Target) {
	if c.r.Parts == nil {
		return nil
	}
	for _, t := range c.targets {
		target := *t.r.Target
		if t.real.path == "" || t.written() == "" || c.r.Parts.Harmless && target.Access == Edit {
			continue
		}
		if d := t.closedConcern(); d == nil || named && t.namedConcern() != nil {
			continue
		}
		out = append(out, target)
	}
	return out
}

// Opens returns the files outside of the workspace that a call needs, whatever the
// decision on it. They are the Decision.Opens of a call that the user approves.
func (p *Policy) Opens(r Request) []Target {
	var c call
	c.prepare(p, &r)
	return c.opens(false)
}

// opened sets the Opens of a decision.
func (c *call) opened(d Decision) Decision {
	switch {
	case d.Behavior == Deny:
	case d.Behavior == Allow && (d.Layer == LayerRule || d.Layer == LayerDefault || d.Layer == LayerReadOnly):
		d.Opens = c.opens(true)
	default:
		d.Opens = c.opens(false)
	}
	return d
}
