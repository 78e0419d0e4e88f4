package pipeline

import (
	"context"
	"fmt"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/event"
	"mcp-toolset/tools"
)

// askUser gets the reply of the user to the questions of a tool: from an earlier answer by
// number, from the client, or later by number. If the client answers for the user, questions that
// wait under a number are not sent to it again.
func (c *call) askUser(ctx context.Context, questions []question.Question) (question.Reply, error) {
	c.private.Store(true)
	v, store := c.Session.View(), c.p.Approvals
	owner, events := v.Owner(), c.p.Events
	again := "The same call of " + c.tool.Name + ", sent again, returns this."
	about := approval.Request{
		Session: owner.Session, Principal: v.Principal, Client: v.Named(), Tool: c.tool.Name, Title: c.prepared.Summary, Dir: v.Dir,
		Input: c.prepared.Input(), Questions: questions,
		Replied: func(n int, reply question.Reply) {
			events.Add(owner, event.Event{Source: source(n), Text: reply.Lines(questions) + "\n" + again})
		},
	}
	waiting := 0
	if c.numbered() {
		if reply, n := store.TakeReply(about); n != 0 {
			events.Retract(owner, source(n))
			return reply, nil
		}
		waiting = store.Waits(about)
	}
	if c.Elicit != nil && c.depth == 0 && (waiting == 0 || !v.Unseen()) {
		message, schema := question.Form(questions)
		if c.Ticket != nil {
			c.Ticket.Depart()
		}
		reply, err := c.elicit(ctx, tools.Form{Message: message, Schema: schema})
		c.Session.SetUnseen(err == nil && reply.Unseen)
		if err != nil {
			return question.Reply{}, err
		}
		if reply.Action != "cancel" && waiting != 0 {
			store.Drop(about)
		}
		switch reply.Action {
		case "accept":
			return question.Reply{Answers: question.Read(questions, reply.Content)}, nil
		case "decline":
			return question.Reply{Declined: true}, nil
		}
	}
	if !c.numbered() {
		return question.Reply{}, question.NobodyText("")
	}
	if waiting == 0 {
		n, err := store.Pend(about)
		if err != nil {
			return question.Reply{}, question.NobodyText(": " + err.Error())
		}
		waiting = n
	}
	return question.Reply{}, question.PendingText(waiting)
}

// source returns the source of the event that answers question n.
func source(n int) string { return fmt.Sprintf("question %d", n) }
