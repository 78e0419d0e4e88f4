package policy

// The layers that can make a decision.
const (
	LayerRule       = "rule"       // a rule of the settings
	LayerPath       = "path"       // the confinement of paths to the workspace
	LayerSite       = "site"       // the address of a web page
	LayerHook       = "hook"       // a hook of the settings
	LayerMode       = "mode"       // the mode
	LayerReadOnly   = "read-only"  // the call only reads
	LayerClassifier = "classifier" // the classifier of the settings
	LayerApproval   = "approval"   // the user's answer
	LayerDefault    = "default"    // no other layer decides
	LayerTool       = "tool"       // the tool itself
	LayerSandbox    = "sandbox"    // the sandbox of commands
	LayerInput      = "input"      // the call was not judged, because it is malformed or invalid
)

// Classified returns the decision on a call after the classifier gave opinion o, which
// may be nil. It returns d unchanged unless d is Open. An ask opinion does not turn a
// deny into an ask.
func (d Decision) Classified(o *ExternalDecision) Decision {
	if o == nil || !d.Open || d.Behavior == Deny && o.Behavior == Ask {
		return d
	}
	c := Decision{Behavior: o.Behavior, Layer: LayerClassifier, Reason: "the classifier decided " + o.Behavior.String(), Opens: d.Opens}
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
