package upstream

import (
	"encoding/json"
	"fmt"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// check returns a decision that applies unless a rule of the user allows the
// call, or nil if there is no objection.
func (s *server) check(f *tools.Foreign, tool json.RawMessage, change string) *policy.Decision {
	name := line(s.Name)
	if s.m.PinRefuses && change != "" && s.m.Pins != nil && s.m.Pins.Seen(s.Name, s.config, tool) {
		change = "" // the user has looked in the meantime
	}
	switch {
	case s.m.PinRefuses && change != "":
		return &policy.Decision{
			Behavior: policy.Deny, Reason: fmt.Sprintf("the definition of %s is not the one that the user looked at: %s", f.Name, line(change)),
			Next: "do it another way, or ask the user to look at it with mcp-toolset upstream diff " + name,
		}
	case s.m.AskAlways:
		return s.ask(f, fmt.Sprintf("no setting allows the tools of the server %s", name))
	case !f.Declared.DestructiveHint():
		return nil
	case f.Declared.Destructive == nil:
		return s.ask(f, fmt.Sprintf("the server %s does not declare that the tool destroys nothing", name))
	}
	return s.ask(f, fmt.Sprintf("the server %s declares that the tool may destroy something", name))
}

func (s *server) ask(f *tools.Foreign, reason string) *policy.Decision {
	return &policy.Decision{
		Behavior: policy.Ask, Reason: reason,
		Next: "do it another way, or ask the user to add an allow rule such as " + f.Name + " to the settings",
	}
}
