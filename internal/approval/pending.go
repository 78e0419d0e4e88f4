package approval

import (
	"slices"
	"time"
)

// What became of a number.
const (
	fateExpired = "has expired"
	fateUsed    = "was approved, and the call was sent again"
	fateDenied  = "was denied"
	fateCrowded = "was given up for newer ones"
	fateEnded   = "was of a conversation that has ended"
)

// item is an approval that is pending or granted.
type item struct {
	number   int
	key      key
	request  Request
	sessions []string // conversations that wait for it
	since    time.Time
	granted  time.Time // zero while it is pending
}

// ends is when it is over by itself.
func (i *item) ends() time.Time {
	if i.granted.IsZero() {
		return i.since.Add(pendingFor)
	}
	return i.granted.Add(GrantedFor)
}

// Pend notes that a person has to decide on a call and returns the number that
// they decide by. A call that is pending, or granted and not taken, keeps its
// number. The number is unique among the servers of this user on this machine.
//
// An error says that nobody can be asked this way.
func (s *Store) Pend(r Request) (number int, err error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	r = r.clone()
	k := r.key()
	if n := s.again(k, &r); n != 0 {
		return n, nil
	}
	if err := s.open(); err != nil {
		return 0, err
	}
	n, err := s.nextNumber()
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(k); i != nil { // another was quicker
		i.join(r.Session)
		return i.number, nil
	}
	i := &item{number: n, key: k, request: r, since: s.config.Now()}
	i.join(r.Session)
	s.items = append(s.items, i)
	s.prune()
	return n, nil
}

// again is the number of a call that is held; 0 if it is not. What the call would
// change is as it is now.
func (s *Store) again(k key, r *Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(k)
	if i == nil {
		return 0
	}
	i.join(r.Session)
	i.request.Preview, i.request.Partial = r.Preview, r.Partial
	return i.number
}

// join adds a conversation to those that wait.
func (i *item) join(session string) {
	if !slices.Contains(i.sessions, session) {
		i.sessions = append(i.sessions, session)
	}
}

// find is the item of a call, nil if there is none. It needs the lock, as all
// below do.
func (s *Store) find(k key) *item {
	s.prune()
	for _, i := range s.items {
		if i.key == k {
			return i
		}
	}
	return nil
}

// number is the item of a number, nil if there is none.
func (s *Store) number(n int) *item {
	s.prune()
	for _, i := range s.items {
		if i.number == n {
			return i
		}
	}
	return nil
}

// prune ends what is over, and the oldest that are too many.
func (s *Store) prune() {
	now := s.config.Now()
	for _, i := range slices.Clone(s.items) {
		if !now.Before(i.ends()) {
			s.end(i, fateExpired)
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
		s.end(i, fateCrowded)
	}
}

// end forgets an item but for what became of it.
func (s *Store) end(i *item, fate string) {
	at := slices.Index(s.items, i)
	s.items = slices.Delete(s.items, at, at+1)
	s.fates[i.number] = fate
	if s.faded = append(s.faded, i.number); len(s.faded) > maxFates {
		delete(s.fates, s.faded[0])
		s.faded = s.faded[1:]
	}
}

// Take reports whether a person has approved this very call, and uses that up:
// of calls that take it at the same time one gets it. What was approved for
// always is not used up; ask Always behind Take.
func (s *Store) Take(r Request) bool {
	k := r.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(k)
	if i == nil || i.granted.IsZero() {
		return false
	}
	s.end(i, fateUsed)
	return true
}

// Forget ends a conversation: what it was declined is forgotten, and what only
// it waits for is not pending any more.
func (s *Store) Forget(session string) {
	if session == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declined = slices.DeleteFunc(s.declined, func(d *declined) bool { return d.session == session })
	for _, i := range slices.Clone(s.items) {
		at := slices.Index(i.sessions, session)
		if at < 0 || !i.granted.IsZero() {
			continue
		}
		if i.sessions = slices.Delete(i.sessions, at, at+1); len(i.sessions) == 0 {
			s.end(i, fateEnded)
		}
	}
}
