package approval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/plain"
)

const (
	// maxClient is the limit of the name of a client that is shown, in characters, and mostClients
	// that of the names.
	maxClient   = 60
	mostClients = 3
)

// Outcomes of a number.
const (
	outcomeExpired = "has expired"
	outcomeUsed    = "was approved, and the call was sent again"
	outcomeReplied = "was answered"
	outcomeDenied  = "was declined"
	outcomeDropped = "was given up for newer ones"
	outcomeEnded   = "was of a conversation that has ended"
)

// item is a pending or granted approval.
type item struct {
	number  int
	key     key
	request Request
	waiters []waiter // sessions that wait for it
	since   time.Time
	granted time.Time // when it was approved or answered; zero while pending
	reply   question.Reply
}

// waiter is a session that waits for an approval.
type waiter struct {
	session  string
	client   string
	answered func(number int, a Answer, reason string) // may be nil
}

// tell calls a waiter.
func (w waiter) tell(number int, a Answer, reason string) {
	if w.answered != nil {
		w.answered(number, a, reason)
	}
}

// tell calls all waiters.
func (i *item) tell(a Answer) {
	for _, w := range i.waiters {
		w.tell(i.number, a, "")
	}
}

// ends returns when the item expires.
func (i *item) ends() time.Time {
	if i.granted.IsZero() {
		return i.since.Add(pendingFor)
	}
	if i.request.Questions != nil {
		return i.granted.Add(pendingFor) // the model may have no turn before
	}
	return i.granted.Add(GrantedFor)
}

// Pend adds a call that the user must decide on, and returns the number to
// decide by. A call that is already pending, or granted and not used, retains
// its number. Numbers are unique among the servers of this user on this
// machine.
//
// An error means that the user cannot be asked this way.
func (s *Store) Pend(r Request) (number int, err error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	r = r.clone()
	k := r.key()
	if n := s.again(k, &r); n != 0 {
		return n, nil
	}
	if err := s.socket.Open(); err != nil {
		return 0, err
	}
	n, err := s.nextNumber()
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(k); i != nil { // added by another call in the meantime
		i.join(&r)
		return i.number, nil
	}
	i := &item{number: n, key: k, request: r, since: s.config.Now()}
	i.join(&r)
	s.items = append(s.items, i)
	s.generation.Add(1)
	s.prune()
	return n, nil
}

// again returns the number of a request that is already held, or 0. It updates
// the preview, because the same call may now change other things.
func (s *Store) again(k key, r *Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(k)
	if i == nil {
		return 0
	}
	clients := i.clients()
	i.join(r)
	if i.clients() != clients {
		s.generation.Add(1)
	}
	if i.request.Preview != r.Preview || i.request.Partial != r.Partial {
		i.request.Preview, i.request.Partial = r.Preview, r.Partial
		s.generation.Add(1)
	}
	return i.number
}

// join adds the session of a request to those that wait.
func (i *item) join(r *Request) {
	i.leave(r.Session)
	i.waiters = append(i.waiters, waiter{r.Session, r.Client, r.Answered})
}

// clients returns the names of the clients that wait, as they call themselves, in one line.
func (i *item) clients() string {
	var names []string
	for _, w := range i.waiters {
		if name := plain.Cut(plain.Line(w.client), maxClient); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - mostClients; more > 0 {
		names = append(names[:mostClients], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Waiting returns the numbers and titles of what waits for the user in sessions, safe to show.
func (s *Store) Waiting(sessions ...string) (lines []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune()
	for _, i := range s.items {
		waits := func(w waiter) bool { return w.session != "" && slices.Contains(sessions, w.session) }
		if i.granted.IsZero() && slices.ContainsFunc(i.waiters, waits) {
			kind := "approval"
			if i.request.Questions != nil {
				kind = "question"
			}
			lines = append(lines, fmt.Sprintf("%s %d: %s", kind, i.number, plain.Line(cmp.Or(i.request.Title, i.request.Tool))))
		}
	}
	return lines
}

// leave removes a session from those that wait.
func (i *item) leave(session string) {
	i.waiters = slices.DeleteFunc(i.waiters, func(w waiter) bool { return w.session == session })
}

// find returns the item of a call, or nil. The caller must hold the lock. This
// applies to all methods below that do not take it.
func (s *Store) find(k key) *item {
	s.prune()
	for _, i := range s.items {
		if i.key == k {
			return i
		}
	}
	return nil
}

// number returns the item with a number, or nil.
func (s *Store) number(n int) *item {
	s.prune()
	for _, i := range s.items {
		if i.number == n {
			return i
		}
	}
	return nil
}

// prune removes expired items, and the oldest ones if the limits are exceeded.
func (s *Store) prune() {
	now := s.config.Now()
	for _, i := range slices.Clone(s.items) {
		if !now.Before(i.ends()) {
			s.end(i, outcomeExpired)
		}
	}
	pending, size := 0, 0
	for _, i := range s.items {
		size += i.request.size()
		if i.granted.IsZero() {
			pending++
		}
	}
	for _, i := range slices.Clone(s.items) {
		switch {
		case size > maxHeld:
		case pending > maxPending && i.granted.IsZero():
		default:
			continue
		}
		size -= i.request.size()
		if i.granted.IsZero() {
			pending--
		}
		s.end(i, outcomeDropped)
	}
}

// end removes an item and records its outcome.
func (s *Store) end(i *item, fate string) {
	at := slices.Index(s.items, i)
	s.items = slices.Delete(s.items, at, at+1)
	s.generation.Add(1)
	s.outcomes[i.number] = fate
	if s.outcomeOrder = append(s.outcomeOrder, i.number); len(s.outcomeOrder) > maxOutcomes {
		delete(s.outcomes, s.outcomeOrder[0])
		s.outcomeOrder = s.outcomeOrder[1:]
	}
}

// Waits returns the number of a request that waits for the user, or 0.
func (s *Store) Waits(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(r.key()); i != nil && i.granted.IsZero() {
		return i.number
	}
	return 0
}

// TakeReply returns the user's reply to exactly these questions, with its number, and drops
// it. The number is 0 if there is no reply.
func (s *Store) TakeReply(r Request) (reply question.Reply, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r.key())
	if i == nil || i.granted.IsZero() {
		return question.Reply{}, 0
	}
	s.end(i, outcomeReplied)
	return i.reply, i.number
}

// Drop ends questions that wait: their reply has come another way.
func (s *Store) Drop(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(r.key()); i != nil {
		s.end(i, outcomeReplied)
	}
}

// Take returns the number by which the user has approved exactly this call, or 0, and uses up
// the approval. Of several concurrent calls, only one gets it. Take does not check
// what is always allowed; call Always after it.
func (s *Store) Take(r Request) (number int) {
	k := r.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(k)
	if i == nil || i.granted.IsZero() {
		return 0
	}
	s.end(i, outcomeUsed)
	return i.number
}

// Forget ends a session. It drops what the session was declined and allowed, and the
// pending approvals that no other session waits for.
func (s *Store) Forget(session string) {
	if session == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declined = slices.DeleteFunc(s.declined, func(d *declined) bool { return d.session == session })
	s.agreed = slices.DeleteFunc(s.agreed, func(a agreed) bool { return a.session == session })
	for _, i := range slices.Clone(s.items) {
		before := len(i.waiters)
		if !i.granted.IsZero() {
			continue
		}
		if i.leave(session); before > 0 && len(i.waiters) == 0 {
			s.end(i, outcomeEnded)
		}
	}
}
