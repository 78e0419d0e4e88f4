package plan_test

import (
	"context"
	"testing"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
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

// TestExit checks what each answer of the user leads to.
func TestExit(t *testing.T) {
	planning := true
	for _, test := range []struct {
		mode  policy.Mode
		reply question.Reply
		text  string
		want  session.View
	}{
		{"", chosen("Accept"), "The user has accepted the plan. Plan mode is off; carry the plan out.", session.View{}},
		{"", chosen("Accept, and allow edits"), "The user has accepted the plan. Plan mode is off; carry the plan out.", session.View{AcceptEdits: true}},
		{"", chosen("Decline"), declinedText, session.View{Planning: true}},
		{"", chosen(), "The user chose no option. Plan mode is on. Ask the user about the plan, then present it again.", session.View{Planning: true}},
		{"", question.Reply{Declined: true}, declinedText, session.View{Planning: true}},
		{"", question.Reply{Answers: []question.Answer{{Choices: []string{"Accept"}, Other: "but no tests"}}}, "The user did not accept the plan. Plan mode is on. Change the plan and present it again. The user wrote: but no tests", session.View{Planning: true}},
		{policy.ModeManual, chosen("Accept"), "The user has accepted the plan. Plan mode is off; carry the plan out.", session.View{}},
	} {
		w := toolstest.NewWorkspace(t)
		w.Session.Apply(session.Effect{Planning: &planning})
		var asked question.Question
		w.AskUser = func(_ context.Context, q []question.Question) (question.Reply, error) {
			asked = q[0]
			return test.reply, nil
		}
		resp, err := w.Call(t.Context(), plan.NewExit(plan.Options{Mode: test.mode}), `{"plan":"one\ntwo"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Session.View(); got.Planning != test.want.Planning || got.AcceptEdits != test.want.AcceptEdits {
			t.Errorf("%+v: planning %v, edits %v", test.reply, got.Planning, got.AcceptEdits)
		}
		if got := resp.Content[0].(tools.Text).Text; got != test.text {
			t.Errorf("%+v: %s", test.reply, got)
		}
		if asked.Body != "one\ntwo" || len(asked.Options) != map[policy.Mode]int{"": 3, policy.ModeManual: 2}[test.mode] {
			t.Errorf("asked %+v", asked)
		}
	}
}

// TestExitUnasked checks that plan mode, which the model has entered, ends where nobody can be
// asked.
func TestExitUnasked(t *testing.T) {
	planning := true
	for _, unseen := range []bool{false, true} {
		w := toolstest.NewWorkspace(t)
		w.Session.Apply(session.Effect{Planning: &planning})
		if unseen { // it has a form, and answers by itself
			w.AskUser = func(context.Context, []question.Question) (question.Reply, error) {
				w.Session.SetUnseen(true)
				return question.Reply{}, question.PendingText(1)
			}
		}
		resp, err := w.Call(t.Context(), plan.NewExit(plan.Options{}), `{"plan":"one"}`)
		if err != nil {
			t.Fatal(err)
		}
		const want = "This client cannot ask the user, so plan mode, which you had entered, is off. Present the plan in your reply and end your turn; carry it out once the user agrees."
		if got := resp.Content[0].(tools.Text).Text; got != want || w.Session.View().Planning {
			t.Errorf("unseen %v: %s", unseen, got)
		}
	}
}

const declinedText = "The user declined the plan. Plan mode is on. Ask what to change, then present another plan."

func chosen(labels ...string) question.Reply {
	return question.Reply{Answers: []question.Answer{{Choices: labels}}}
}

// TestBody checks what the user sees of the inputs of current models.
func TestBody(t *testing.T) {
	for _, one := range []struct {
		in   plan.ExitInput
		want string
	}{
		{plan.ExitInput{Plan: "do it"}, "do it"},
		{plan.ExitInput{}, "(The call has no plan: it is in what the model wrote before.)"},
		{plan.ExitInput{PlanFile: "/home/u/p\n.md"}, `(The plan is in /home/u/p\n.md.)`},
		{plan.ExitInput{Plan: "do it", Prompts: []plan.Prompt{{Tool: "Bash", Prompt: "run the tests"}}}, "do it\n\nIt expects to use, which this answer does not allow yet:\n- Bash: run the tests"},
	} {
		if got := one.in.Body(); got != one.want {
			t.Errorf("%+v: %q, want %q", one.in, got, one.want)
		}
	}
}
