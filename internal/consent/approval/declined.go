package approval

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// agreed is a subject on which the user agreed in a session.
type agreed struct {
	session string
	tool    string
	subject Subject
}

// Agree records that the user agreed to all calls of a tool on a subject in a session.
// Without a session, nothing is recorded.
func (s *Store) Agree(session, tool string, subject Subject) {
	a := agreed{session, tool, subject}
	s.mu.Lock()
	defer s.mu.Unlock()
	if session == "" || slices.Contains(s.agreed, a) {
		return
	}
	if s.agreed = append(s.agreed, a); len(s.agreed) > maxDeclined {
		s.agreed = s.agreed[1:]
	}
}

// Agreed reports whether Agree has recorded this subject in the session.
func (s *Store) Agreed(session, tool string, subject Subject) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.agreed, agreed{session, tool, subject})
}

// declined is a subject that the user declined in a session.
type declined struct {
	number int // the number by which users lift it
	waiter
	tool    string
	subject Subject
	since   time.Time
	wrote   string // the user's own words; may be ""
}

// Decline records that the user declined something in a session. The user sees
// it in the list and can lift it by a new number. Without a session or a
// subject, nothing is recorded. lifted may be nil; it is called with Lifted.
func (s *Store) Decline(session, tool string, subject Subject, lifted func(number int, a Answer, reason string)) {
	if session == "" || subject.Value == "" {
		return
	}
	// The decline applies in any case. Without a socket or a number it cannot
	// be lifted before the session ends.
	err := s.socket.Open()
	n := 0
	if err == nil {
		n, err = s.nextNumber()
	}
	if err != nil {
		s.config.Log.Warn("what was declined cannot be lifted", "error", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decline(n, waiter{session: session, answered: lifted}, tool, subject, "")
}

// decline records a subject as declined. The caller must hold the lock.
func (s *Store) decline(n int, by waiter, tool string, subject Subject, wrote string) {
	tool = subject.of(tool)
	if by.session == "" || subject.Value == "" {
		return
	}
	if d := s.findDeclined(by.session, tool, subject); d != nil {
		d.wrote = cmp.Or(wrote, d.wrote)
		return
	}
	s.declined = append(s.declined, &declined{n, by, tool, subject, s.config.Now(), wrote})
	if len(s.declined) > maxDeclined {
		s.declined = s.declined[1:]
	}
}

// Declined reports whether the user declined this subject in the session, and returns the user's
// own words about it, if there are any.
func (s *Store) Declined(session, tool string, subject Subject) (is bool, wrote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.findDeclined(session, tool, subject); d != nil {
		return true, d.wrote
	}
	return false, ""
}

// findDeclined returns the refusal of a subject in a session, or nil.
func (s *Store) findDeclined(session, tool string, subject Subject) *declined {
	tool = subject.of(tool)
	for _, d := range s.declined {
		if d.session == session && d.tool == tool && d.subject == subject {
			return d
		}
	}
	return nil
}

// lift removes the refusal with this number.
func (s *Store) lift(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := map[string]bool{}
	s.declined = slices.DeleteFunc(s.declined, func(d *declined) bool {
		if d.number == n && !told[d.session] {
			told[d.session] = true
			d.tell(n, Lifted, "")
		}
		return d.number == n
	})
	if len(told) == 0 {
		return fmt.Errorf("nothing was declined by number %d", n)
	}
	return nil
}
