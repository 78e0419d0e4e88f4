package policy

// This file finds the files beyond the workspace that a command is allowed to
// use, so that its containment can be opened for them and for nothing else.

// opens lists the files that the call names and that are not the workspace's to
// give: outside of it, or under a protected name. With named only those that an
// allow rule on paths covers: a rule on commands allows the command as it is
// contained. A harmless call changes nothing, so it needs nothing to change.
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

// Opens lists the files that a call needs beyond the workspace, whatever is
// decided on it: Decision.Opens of one that somebody agrees to.
func (p *Policy) Opens(r Request) []Target {
	var c call
	c.prepare(p, &r)
	return c.opens(false)
}

// opened adds to a decision what it opens.
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
