package approval

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/consent/socket"
)

// Item is a pending or granted approval as shown to users. It contains
// everything the approval is bound to.
type Item struct {
	Number    int       `json:"number"`
	Server    string    `json:"server"` // name of the server for users
	Process   int       `json:"process"`
	Since     time.Time `json:"since"`
	Approved  bool      `json:"approved"` // approved and not used yet
	Ends      time.Time `json:"ends"`
	Principal string    `json:"principal"` // "" for the local user
	Client    string    `json:"client"`    // names of the clients that wait, as they call themselves; "": unknown
	Tool      string    `json:"tool"`
	Title     string    `json:"title"`
	Dir       string    `json:"dir"`
	Root      string    `json:"root"`
	Input     []byte    `json:"input"` // JSON, byte for byte
	Reason    string    `json:"reason"`
	Subject   Subject   `json:"subject"`
	Preview   string    `json:"preview,omitempty"` // what the call would change; "" if Input shows it
	Partial   bool      `json:"partial,omitempty"` // Preview is incomplete
	Key       string    `json:"-"`                 // digest of the item as the user sees it
	Always    string    `json:"always"`            // why "always" is not offered; "" if it is

	Questions []question.Question `json:"questions,omitempty"` // in place of the question for approval
}

// Refusal is a subject that the user declined in a session.
type Refusal struct {
	Number  int       `json:"number"` // the number to lift it by; 0 if it cannot be lifted
	Server  string    `json:"server"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
	Tool    string    `json:"tool"`
	Subject Subject   `json:"subject"`
	Wrote   string    `json:"wrote,omitempty"` // the user's own words
}

// converse answers the one command of a connection.
func (s *Store) converse(_ context.Context, p *socket.Peer) {
	a := answer{}
	err := p.Refused
	var q command
	if err == nil {
		if err = p.Err; err == nil {
			q, err = parseCommand(p.Line)
		}
	}
	if err == nil {
		a, err = s.answer(q)
	}
	if err != nil {
		a.Refused = err.Error()
	}
	data, err := json.Marshal(a)
	if err != nil {
		s.config.Log.Error("answering about approvals", "error", err.Error()) // a bug
		return
	}
	_ = p.SetDeadline(time.Now().Add(connectionFor + perByte*time.Duration(len(data))))
	_ = writeAnswer(p, data) // the peer may have gone
}

// answer executes a command.
func (s *Store) answer(q command) (answer, error) {
	switch q.Do {
	case doApprove:
		return answer{}, s.Approve(q.Number, "", q.Always)
	case doDeny:
		return answer{}, s.Deny(q.Number, "", q.Reason)
	case doReply:
		return answer{}, s.Reply(q.Number, "", q.Reply)
	case doLift:
		return answer{}, s.lift(q.Number)
	}
	return s.list(q.Number), nil
}

// list returns all approvals and declines, or those of one number.
func (s *Store) list(number int) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune()
	a := answer{Fate: s.outcomes[number]}
	for _, i := range s.items {
		if i.granted.IsZero() {
			a.Pending = append(a.Pending, i.number)
		}
		if number == 0 || number == i.number {
			a.Items = append(a.Items, s.item(i))
		}
	}
	for _, d := range s.declined {
		if number == 0 || number == d.number {
			a.Declined = append(a.Declined, Refusal{d.number, s.config.Server, os.Getpid(), d.since, d.tool, d.subject, d.wrote})
		}
	}
	return a
}

func (s *Store) item(i *item) Item {
	r := &i.request
	out := Item{
		Number: i.number, Server: s.config.Server, Process: os.Getpid(), Since: i.since, Approved: !i.granted.IsZero(), Ends: i.ends(),
		Principal: r.Principal, Client: i.clients(), Tool: r.Tool, Title: r.Title, Dir: r.Dir, Root: r.Root, Input: r.Input, Reason: r.Reason, Subject: r.Subject,
		Preview: r.Preview, Partial: r.Partial, Questions: r.Questions, Key: i.shownKey(),
	}
	if err := r.always(); err != nil {
		out.Always = err.Error()
	}
	return out
}
