package policy

// This file explains calls that do several things at once, part by part.

// PartDecision is what is decided on one part of a call by itself, and why.
type PartDecision struct {
	Text         string // of the part; not made safe to show
	Behavior     Behavior
	Layer        string // what decided: LayerRule, LayerMode, LayerReadOnly or LayerDefault
	Rule, Source string // as in Decision
	Line         int    // of Source, 1-based; 0 when none
	Reason       string // one fact, safe to show
}

// Where is the place of the deciding rule as FILE:LINE, safe to show; "" when no
// rule of a file decided.
func (d PartDecision) Where() string { return Decision{Source: d.Source, Line: d.Line}.Where() }

// ExplainParts says what is decided on each part of a call by itself, in the
// order of Request.Parts; nil for a call without parts. It is there to explain
// what Decide says, and agrees with it: where a part is denied the call is, and
// where one is asked about the call is not allowed.
//
// The first of these that has something to say decides: deny rules; the mode
// plan; ask rules; that not all of the part, or not all parts, are known; rules that allow the whole
// call; the modes acceptEdits and bypassPermissions; the risk of the part; an
// allow rule; the mode manual; and last what the part is.
//
// What is about the whole call is not looked at: the files that parts name,
// which path rules and the confinement of paths are for, and Own, Hook, Declined
// and Always of the request.
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

// partsExplainer decides on the parts of a call, from the first to the last.
type partsExplainer struct {
	*call
	whole match // what allows the call as a whole
	outer match // what allows the latest part that no other one runs
	edits bool  // the mode allows the call
	// unresolved is the question about a call whose parts are not all known.
	unresolved *Decision
}

func (e *partsExplainer) decide(p *Part) Decision {
	own := e.on(Allow, p)
	if !p.Inner {
		e.outer = own
	} else if own.rule == nil {
		own = e.outer // a rule allows it together with what runs it
	}
	if m := e.on(Deny, p); m.rule != nil {
		return e.byRule(Deny, m)
	}
	if e.p.mode == ModePlan && !e.r.ReadOnly && !p.ReadOnly {
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

// undecided decides on a part that no deny or ask rule covers.
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
	case p.ReadOnly:
		return Decision{Behavior: Allow, Layer: LayerReadOnly, Reason: "it only reads"}
	}
	return Decision{Behavior: Allow, Layer: LayerDefault, Reason: "no rule covers it, and no risk of it is known"}
}

// on is the first rule of a list that covers a part, or every call of the tool.
func (e *partsExplainer) on(b Behavior, p *Part) (m match) {
	l := &e.p.lists[b]
	l.onTools(e.call, &m)
	l.onPart(e.call, p, &m)
	return m
}
