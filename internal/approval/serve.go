package approval

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Item is a pending or granted approval as people are shown it: all that it is
// bound to.
type Item struct {
	Number    int       `json:"number"`
	Server    string    `json:"server"` // what people know it by
	Process   int       `json:"process"`
	Since     time.Time `json:"since"`
	Approved  bool      `json:"approved"` // and not used yet
	Ends      time.Time `json:"ends"`
	Principal string    `json:"principal"` // "" for the local user
	Tool      string    `json:"tool"`
	Title     string    `json:"title"`
	Dir       string    `json:"dir"`
	Root      string    `json:"root"`
	Input     []byte    `json:"input"` // JSON, byte for byte
	Reason    string    `json:"reason"`
	Subject   Subject   `json:"subject"`
	Preview   string    `json:"preview,omitempty"` // what it would change; "": Input shows that
	Partial   bool      `json:"partial,omitempty"` // Preview leaves something out
	Always    string    `json:"always"`            // why "always" is not on offer; "" if it is
}

// Refusal is what a conversation was declined.
type Refusal struct {
	Number  int       `json:"number"` // that it is lifted by; 0: it cannot be
	Server  string    `json:"server"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
	Tool    string    `json:"tool"`
	Subject Subject   `json:"subject"`
}

// serve answers at a door until ctx ends, a connection at a time each and some
// at once.
func (s *Store) serve(ctx context.Context, d *door) {
	var busy sync.WaitGroup
	defer busy.Wait()
	defer context.AfterFunc(ctx, d.listener.stop)()
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := d.listener.accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, say. Trying again at once would only burn time.
			if !pause(ctx, 100*time.Millisecond) {
				return
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		busy.Go(func() {
			defer func() { <-slots }()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close()
			s.converse(conn)
		})
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// converse answers the one question of a connection.
func (s *Store) converse(conn conn) {
	a := answer{}
	// First of all, while the peer is the process that connected.
	err := checkPeer(conn)
	if err != nil {
		s.config.Log.Warn("refused to talk about approvals", "error", err.Error())
	}
	_ = conn.SetDeadline(time.Now().Add(connectionFor)) // what came before does not depend on the peer
	// Read in any case: what is left unread may cost the peer the answer.
	q, unread := readQuestion(conn)
	if err == nil {
		err = unread
	}
	if err == nil {
		a, err = s.answer(q)
	}
	if err != nil {
		a.Refused = err.Error()
	}
	data, err := json.Marshal(a)
	if err != nil {
		s.config.Log.Error("answering about approvals", "error", err.Error()) // a defect
		return
	}
	_ = conn.SetDeadline(time.Now().Add(connectionFor + perByte*time.Duration(len(data))))
	_ = writeAnswer(conn, data) // or it has gone
}

// answer does what is asked for.
func (s *Store) answer(q question) (answer, error) {
	switch q.Do {
	case doApprove:
		return answer{}, s.approve(q.Number, q.Always)
	case doDeny:
		return answer{}, s.deny(q.Number)
	case doLift:
		return answer{}, s.lift(q.Number)
	}
	return s.list(q.Number), nil
}

// list is all that people may see, or what is known of one number.
func (s *Store) list(number int) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune()
	a := answer{Fate: s.fates[number]}
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
			a.Declined = append(a.Declined, Refusal{d.number, s.config.Server, os.Getpid(), d.since, d.tool, d.subject})
		}
	}
	return a
}

func (s *Store) item(i *item) Item {
	r := &i.request
	out := Item{
		Number: i.number, Server: s.config.Server, Process: os.Getpid(), Since: i.since, Approved: !i.granted.IsZero(), Ends: i.ends(),
		Principal: r.Principal, Tool: r.Tool, Title: r.Title, Dir: r.Dir, Root: r.Root, Input: r.Input, Reason: r.Reason, Subject: r.Subject,
		Preview: r.Preview, Partial: r.Partial,
	}
	if err := r.always(); err != nil {
		out.Always = err.Error()
	}
	return out
}
