package plan_test

import (
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools/plan"
	"mcp-toolset/tools/toolstest"
)

// TestNotStarted checks that plan mode does not start without a session, or where it could not
// end.
func TestNotStarted(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	w.Session = session.New(session.Config{Roots: []string{w.Root}, Stateless: true})
	_, err := w.Call(t.Context(), plan.NewEnter(plan.Options{}), `{}`)
	const want = "plan mode needs a session, and the requests of this client have none. Explore without changing anything, and present the plan in your answer."
	if err == nil || err.Error() != want {
		t.Error(err)
	}
	_, err = toolstest.NewWorkspace(t).Call(t.Context(), plan.NewEnter(plan.Options{}), `{}`)
	const nobody = "plan mode ends when the user accepts a plan, and the user cannot be asked here. Explore without changing anything, and present the plan in your answer."
	if err == nil || err.Error() != nobody {
		t.Error(err)
	}
}

// TestQuestion checks that a plan is always a question to the user, which shows it.
func TestQuestion(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	planning := true
	w.Session.Apply(session.Effect{Planning: &planning})
	tool := plan.NewExit(plan.Options{})
	for _, text := range []string{"one\\ntwo", strings.Repeat("x", 8000)} {
		c, err := tool.Parse([]byte(`{"plan":"` + text + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		env := w.Env()
		p, err := c.Prepare(env)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Check(env); d == nil || d.Behavior != policy.Ask || d.Layer != policy.LayerUser {
			t.Errorf("decided %+v", d)
		}
		if got := p.Preview(t.Context(), env); got.Partial || got.Text != strings.ReplaceAll(text, "\\n", "\n") {
			t.Errorf("the question shows %.40q, partial: %v", got.Text, got.Partial)
		}
	}
}
