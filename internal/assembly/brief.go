package assembly

import (
	"fmt"
	"time"

	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools/brief"
	"mcp-toolset/tools/cron"
)

// brief returns the options of the tool Brief.
func (p *Plan) brief(s services) brief.Options {
	return brief.Options{
		Journal: p.Journal, Tasks: s.run.Tasks, Items: s.lists.Lines, Narrate: s.models.narrator(),
		Mode: func(v session.View) string {
			mode := s.built().pipeline.Policy().Mode()
			switch {
			case v.Planning:
				mode = policy.ModePlan
			case v.AcceptEdits && mode == policy.ModeDefault:
				mode = policy.ModeAcceptEdits
			}
			return string(mode)
		},
		Waiting: func(v session.View) []string { return s.built().pipeline.Approvals.Waiting(v.ID, v.Owner().Session) },
		Later: func(v session.View) (lines []string) {
			schedules, err := s.schedules.List(v)
			if err != nil {
				lines = append(lines, plain.Line(err.Error()))
			}
			for _, one := range schedules {
				lines = append(lines, "schedule "+cron.Line(one))
			}
			triggers, err := p.Triggers.List(v)
			if err != nil {
				lines = append(lines, plain.Line(err.Error()))
			}
			for _, t := range triggers {
				lines = append(lines, fmt.Sprintf("trigger %s at %s", plain.Line(t.Name), plain.Line(t.Address)))
			}
			return lines
		},
		Changes: func(v session.View, since time.Time) ([]undo.Net, error) {
			return s.changes.Load().Net(v.Owner(), since)
		},
	}
}
