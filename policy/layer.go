package policy

// The layers of a decision: what decided.
const (
	LayerRule       = "rule"       // a rule of the settings
	LayerPath       = "path"       // the confinement of paths
	LayerHook       = "hook"       // a hook of the settings
	LayerMode       = "mode"       // the mode
	LayerReadOnly   = "read-only"  // the call only reads
	LayerClassifier = "classifier" // the classifier of the settings
	LayerApproval   = "approval"   // a person
	LayerDefault    = "default"    // nothing covers the call
	LayerTool       = "tool"       // the tool's own opinion
	LayerSandbox    = "sandbox"    // the containment of commands
	LayerInput      = "input"      // the call was never judged: it is malformed or invalid
)

// Classified is the decision on a call that is Open, after a classifier has said
// something. Where nothing is open, d stays.
func (d Decision) Classified(o *Opinion) Decision {
	if o == nil || !d.Open || d.Behavior == Deny && o.Behavior == Ask {
		return d
	}
	c := Decision{Behavior: o.Behavior, Layer: LayerClassifier, Reason: "the classifier says " + o.Behavior.String(), Opens: d.Opens}
	if o.Reason != "" {
		c.Reason += ": " + o.Reason
	}
	switch o.Behavior {
	case Deny:
		c.Next = "do it another way, or ask the user to allow it by a rule"
	case Ask:
		c.Reason, c.Next = d.Reason+" ("+c.Reason+")", d.Next
	}
	return c
}
