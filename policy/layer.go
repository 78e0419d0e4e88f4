package policy

// The layers of a decision. A Policy decides by the first three.
const (
	LayerRule    = "rule"    // a rule of the settings
	LayerPath    = "path"    // the confinement of paths
	LayerDefault = "default" // no rule covers the call
	LayerTool    = "tool"    // the tool's own opinion, see With
	LayerInput   = "input"   // the call was never judged: it is malformed or invalid
)

// With is the decision beside the tool's own opinion on the call, nil if it has
// none. The tool's Deny always holds; its Ask holds unless an allow rule covers
// the call, since a person has agreed then. It makes nothing laxer, and where
// both say the same, d stays.
func (d Decision) With(own *Decision) Decision {
	if own == nil || own.Behavior >= d.Behavior {
		return d
	}
	if own.Behavior == Ask && d.Layer == LayerRule {
		return d
	}
	tool := *own
	tool.Layer = LayerTool
	return tool
}
