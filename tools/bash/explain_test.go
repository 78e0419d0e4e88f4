package bash

import (
	"testing"

	"mcp-toolset/policy"
)

// TestPartsAgree compares the explained decisions on the parts of a call with the
// decision on the call, over the table: the strictest of them decides, unless files or
// the tool do.
func TestPartsAgree(t *testing.T) {
	s, alone, worse := newScene(t), 0, 0
	for _, b := range decisions(t) {
		s.use(t, b, b.rules)
		for _, r := range b.rows {
			req := s.request(t, r.tool, s.expand(r.command))
			call, parts := s.policy.Decide(req), s.policy.ExplainParts(req)
			worst, ruled := policy.Allow, false
			for _, d := range parts {
				worst = min(worst, d.Behavior)
				ruled = ruled || d.Rule == call.Rule && d.Behavior == call.Behavior
			}
			if len(parts) != len(req.Parts.List) || worst < call.Behavior {
				t.Errorf("decisions.txt:%d: %s: %s, and the parts %+v", r.line, r.command, show(call), parts)
			}
			if len(parts) == 0 || len(req.Parts.Targets) > 0 || req.Own != nil || b.mode == policy.ModePlan {
				continue
			}
			if alone++; worst != call.Behavior {
				t.Errorf("decisions.txt:%d: %s: %s, and the parts alone %+v", r.line, r.command, show(call), parts)
			}
			if call.Behavior != policy.Allow {
				if worse++; call.Layer == policy.LayerRule && !ruled {
					t.Errorf("decisions.txt:%d: %s: no part has the rule %s: %+v", r.line, r.command, call.Rule, parts)
				}
			}
		}
	}
	if alone < 150 || worse < 50 {
		t.Errorf("only %d calls of parts alone, %d of them not allowed", alone, worse)
	}
}
