package approval

import (
	"fmt"
	"slices"
	"time"
)

// declined is what a conversation was declined.
type declined struct {
	number  int // that people lift it by
	session string
	tool    string
	subject Subject
	since   time.Time
}

// Decline remembers for a conversation that a person did not want something.
// People see it in the list and lift it there, by a number that is drawn for it.
// Without a conversation, or when nothing says what it was, nothing is
// remembered.
func (s *Store) Decline(session, tool string, subject Subject) {
	if session == "" || subject.Value == "" {
		return
	}
	// It holds in any case. Without a socket or a number nobody can lift it
	// before the conversation ends.
	err := s.open()
	n := 0
	if err == nil {
		n, err = s.nextNumber()
	}
	if err != nil {
		s.config.Log.Warn("what was declined cannot be lifted", "error", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decline(n, session, tool, subject)
}

// decline needs the lock.
func (s *Store) decline(n int, session, tool string, subject Subject) {
	tool = subject.of(tool)
	if session == "" || subject.Value == "" || s.isDeclined(session, tool, subject) {
		return
	}
	s.declined = append(s.declined, &declined{n, session, tool, subject, s.config.Now()})
	if len(s.declined) > maxDeclined {
		s.declined = s.declined[1:]
	}
}

// Declined reports whether a person declined this in the conversation.
func (s *Store) Declined(session, tool string, subject Subject) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isDeclined(session, tool, subject)
}

func (s *Store) isDeclined(session, tool string, subject Subject) bool {
	tool = subject.of(tool)
	return slices.ContainsFunc(s.declined, func(d *declined) bool {
		return d.session == session && d.tool == tool && d.subject == subject
	})
}

// lift forgets what was declined by a number.
func (s *Store) lift(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.declined)
	s.declined = slices.DeleteFunc(s.declined, func(d *declined) bool { return d.number == n })
	if len(s.declined) == before {
		return fmt.Errorf("nothing was declined by number %d", n)
	}
	return nil
}
