package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/event"
	"mcp-toolset/tools"
)

var colours = []question.Question{{Header: "Colour", Text: "Which colour?", Options: []question.Option{{Label: "Red"}, {Label: "Blue"}}}}

// questioned runs a call that asks the user, whose client replies. A nil reply is a client
// that cannot ask. It returns how often the client asked.
func questioned(t *testing.T, b *bench, args string, reply *tools.FormReply) (text string, asked int) {
	t.Helper()
	r := b.request("Do", args)
	if reply != nil {
		r.Elicit = func(_ context.Context, f tools.Form) (tools.FormReply, error) {
			if asked++; f.Server != "" || !strings.Contains(f.Message, "Which colour?") {
				t.Errorf("the form is %+v", f)
			}
			return *reply, nil
		}
	}
	resp, err := b.Run(t.Context(), r)
	if err != nil {
		return "error: " + err.Error(), asked
	}
	return joinText(resp.Content), asked
}

// TestAskUser checks the ways to an answer: the client's form, then a number.
func TestAskUser(t *testing.T) {
	b := newBench(t, "")
	const args = `{"do":"question","arg":"1"}`
	accept := &tools.FormReply{Action: "accept", Content: json.RawMessage(`{"q1":"Blue"}`)}
	const nobody = "Do: failed: the user cannot be asked here. Decide by yourself and name the decision in your answer, or end your turn with the question."
	const waits = "Do: failed: question 1 waits for the user. Ask it in your reply and end your turn. Or the user runs `mcp-toolset answer 1`, or answers in `mcp-toolset console`, on the machine of the server: an event brings the answer, and exactly this call, sent again, returns it."
	step := func(what, want string, args string, reply *tools.FormReply, times int) {
		t.Helper()
		if got, asked := questioned(t, b, args, reply); got != want || asked != times {
			t.Errorf("%s: asked %d times: %s", what, asked, got)
		}
	}
	step("a form", "Colour: Blue", args, accept, 1)
	step("a decline", "The user declined to answer.", args, &tools.FormReply{Action: "decline"}, 1)
	step("nobody", nobody, args, nil, 0)
	step("cancelled, and no numbers", nobody, args, &tools.FormReply{Action: "cancel"}, 1)

	folder := b.approvals(t)
	b.Events = event.New()
	owner := b.session.View().Owner()
	step("cancelled", waits, args, &tools.FormReply{Action: "cancel"}, 1)
	step("cancelled again", waits, args, &tools.FormReply{Action: "cancel"}, 1)
	step("cancelled by the client", waits, args, &tools.FormReply{Action: "cancel", Unseen: true}, 1)
	step("such a client is not asked again", waits, args, accept, 0)
	green := func([]question.Question) (question.Reply, error) {
		return question.Reply{Answers: []question.Answer{{Other: "green"}}}, nil
	}
	if _, err := approval.Reply(t.Context(), folder, 1, green); err != nil {
		t.Fatal(err)
	}
	step("the call sent again returns the answer, and the event is superfluous", "Colour: green", args, nil, 0)
	if events, _ := b.Events.Take(owner); len(events) != 0 {
		t.Errorf("events: %v", events)
	}
	step("another call", strings.ReplaceAll(waits, "1", "2"), `{"do":"question","arg":"2"}`, nil, 0)
	if _, err := approval.Deny(t.Context(), folder, 2, ""); err != nil {
		t.Fatal(err)
	}
	if events, _ := b.Events.Take(owner); len(events) != 1 || events[0].Source != "question 2" || events[0].Text != "The user declined to answer.\nThe same call of Do, sent again, returns this." {
		t.Errorf("events: %v", events)
	}
}
