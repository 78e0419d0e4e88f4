package plan_test

import (
	"strings"
	"testing"

	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools/plan"
	"mcp-toolset/tools/toolstest"
)

// TestStateless checks that a request without a session starts no plan mode.
func TestStateless(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	w.Session = session.New(session.Config{Roots: []string{w.Root}, Stateless: true})
	_, err := w.Call(t.Context(), plan.NewEnter(plan.Options{}), `{}`)
	const want = "plan mode needs a session, and the requests of this client have none. Explore without changing anything, and present the plan in your answer."
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestQuestion checks that a plan is always a question to the user, which shows it.
func TestQuestion(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	mode := string(policy.ModePlan)
	w.Session.Apply(session.Effect{Mode: &mode})
	tool := plan.NewExit(plan.Options{})
	for text, partial := range map[string]bool{"one\\ntwo": false, strings.Repeat("x", 10_000): true} {
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
		if got := p.Preview(t.Context(), env); got.Partial != partial || !strings.HasPrefix(strings.ReplaceAll(text, "\\n", "\n"), got.Text) || len(got.Text) < 7 {
			t.Errorf("the question shows %.40q, partial: %v", got.Text, got.Partial)
		}
	}
}
