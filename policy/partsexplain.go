package policy

// Explanations of calls with several parts, part by part.

// PartDecision is the decision on one part of a call, considered alone, and its
// reason.
type PartDecision struct {
	Text         string // text of the part; not made safe to show
	Behavior     Behavior
	Layer        string // the layer that decided: LayerRule, LayerMode, LayerReadOnly or LayerDefault
	Rule, Source string // as in Decision
	Line         int    // line in Source, 1-based; 0 if there is none
	Reason       string // one fact, safe to show
}

// Location returns the place of the deciding rule as FILE:LINE, safe to show. It returns
// "" if no rule of a file decided.
func (d PartDecision) Location() string { return Decision{Source: d.Source, Line: d.Line}.Location() }

// ExplainParts returns the decision on each part of a call, considered alone, in the
// order of Request.Parts. It returns nil for a call without parts. It explains the
// decision of Decide and is consistent with it: if a part is denied, the call is
// denied; if the user is asked about a part, the call is not allowed.
//
// The first of these that applies decides: deny rules; the mode plan; ask rules; parts
// that are unknown, or not known in full; rules that allow the whole call; the modes
// acceptEdits and bypassPermissions; the risk of the part; an allow rule; the mode
// manual; and finally the part itself.
//
// ExplainParts ignores everything that concerns the whole call: the files that parts
// name, with the path rules and the confinement of paths, and Own, Hook, Declined and
// Always of the request.
func (p *Policy) ExplainParts(r Request) []PartDecision {
	if r.Parts == nil {
		return nil
	}
	var c call
	c.prepare(p, &r)
	e := partsExplainer{call: &c, whole: c.allowing(), edits: p.mode == ModeAcceptEdits && c.onlyEdits(), unresolved: c.unresolvedParts()}
	var out []PartDecision
	for i := range r.Parts.List {
		part := &r.Parts.List[i]
		d := p.unasked(e.decide(part))
		out = append(out, PartDecision{part.Text, d.Behavior, d.Layer, d.Rule, d.Source, d.Line, d.Reason})
	}
	return out
}

// partsExplainer decides the parts of a call, in their order.
type partsExplainer struct {
	*call
	whole match // the match that allows the call as a whole
	outer match // the match that allows the latest part that is not Inner
	edits bool  // whether the mode allows the call
	// unresolved is the question about a call with unknown parts; nil if there is none.
	unresolved *Decision
}

func (e *partsExplainer) decide(p *Part) Decision {
	own := e.on(Allow, p)
	if !p.Inner {
		e.outer = own
	} else if own.rule == nil {
		own = e.outer // the rule also allows what the outer part runs
	}
	if m := e.on(Deny, p); m.rule != nil {
		return e.byRule(Deny, m)
	}
	if (e.p.mode == ModePlan || e.p.planned) && !e.r.ReadOnly && !p.ReadOnly {
		return e.planned()
	}
	if m := e.on(Ask, p); m.rule != nil {
		return e.byRule(Ask, m)
	}
	if e.unresolved != nil {
		return *e.unresolved
	}
	if d := e.unknownPart(p); d != nil {
		return *d
	}
	if e.whole.rule != nil && own.rule == nil && !p.ReadOnly {
		own = e.whole
	}
	return e.undecided(p, own)
}

// undecided decides a part that no deny or ask rule covers.
func (e *partsExplainer) undecided(p *Part, own match) Decision {
	risk := p.Risk != "" && e.whole.rule == nil
	switch {
	case e.whole.rule == nil && e.edits:
		return e.acceptedEdits()
	case risk && e.p.mode == ModeBypass:
		return e.bypassed()
	case risk:
		d := e.risky(p)
		d.Behavior = Ask
		return d
	case e.p.mode == ModeManual && e.mayChange() && !p.ReadOnly && e.whole.rule == nil && (own.rule == nil || p.Inner):
		return Decision{Behavior: Ask, Layer: LayerMode, Reason: manually}
	case own.rule != nil:
		return e.byRule(Allow, own)
	case p.ReadOnly, p.Reads:
		return Decision{Behavior: Allow, Layer: LayerReadOnly, Reason: "it only reads"}
	}
	return Decision{Behavior: Allow, Layer: LayerDefault, Reason: "no rule covers it, and no risk of it is known"}
}

// on returns the first rule of a list that covers a part, or every call of the tool.
func (e *partsExplainer) on(b Behavior, p *Part) (m match) {
	l := &e.p.lists[b]
	if l.onTools(e.call, &m); b == Allow && m.rule == nil {
		return l.covering(e.call, p)
	}
	l.onPart(e.call, p, &m)
	return m
}
