package approval

import (
	"fmt"

	"mcp-toolset/internal/consent/question"
)

// approve grants a pending approval, and always allows it if requested.
func (s *Store) approve(n int, always bool) error {
	r, err := s.decidable(n, always)
	if err != nil {
		return err
	}
	if always {
		// If the entry cannot be stored, nothing is granted.
		if err := s.remember(r, socketLockTimeout); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	switch {
	case i != nil && i.granted.IsZero():
		i.granted = s.config.Now()
	case always: // the entry is stored, whatever happened to the one call
	case i != nil:
		return errApproved(n)
	default:
		return s.unknown(n)
	}
	return nil
}

// decidable returns the request with a number. A granted request can still be
// always allowed.
func (s *Store) decidable(n int, always bool) (Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	switch {
	case i == nil:
		return Request{}, s.unknown(n)
	case i.request.Questions != nil:
		return Request{}, fmt.Errorf("%d is a question; answer it with `mcp-toolset answer %d`", n, n)
	case always:
		if err := i.request.always(); err != nil {
			return Request{}, err
		}
	}
	return i.request, nil
}

// reply answers questions.
func (s *Store) reply(n int, reply question.Reply) error {
	s.mu.Lock()
	i := s.number(n)
	err := error(nil)
	switch {
	case i == nil:
		err = s.unknown(n)
	case i.request.Questions == nil:
		err = fmt.Errorf("%d is an approval; decide with `mcp-toolset approve %d` or `mcp-toolset deny %d`", n, n, n)
	case !i.granted.IsZero():
		err = fmt.Errorf("question %d was answered already", n)
	default:
		err = reply.Check(i.request.Questions)
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	i.granted, i.reply = s.config.Now(), reply
	if i.request.Replied != nil {
		i.request.Replied(n, reply) // before a call can take the reply
	}
	s.mu.Unlock()
	return nil
}

// deny declines a pending approval, or revokes a granted one that was not used. Questions
// are answered with the decline.
func (s *Store) deny(n int) error {
	s.mu.Lock()
	i := s.number(n)
	if i != nil && i.request.Questions != nil {
		s.mu.Unlock()
		return s.reply(n, question.Reply{Declined: true})
	}
	defer s.mu.Unlock()
	if i == nil {
		return s.unknown(n)
	}
	for _, session := range i.sessions {
		s.decline(n, session, i.request.Tool, i.request.Subject)
		if i.request.As != "" {
			s.decline(n, session, i.request.As, i.request.Subject)
		}
	}
	s.end(i, outcomeDenied)
	return nil
}

func errApproved(n int) error {
	return fmt.Errorf("approval %d was approved already; let the model send the same call again", n)
}

// unknown returns the error for a number without an item, with its outcome if
// that is known.
func (s *Store) unknown(n int) error {
	if fate, ok := s.outcomes[n]; ok {
		return fmt.Errorf("approval %d %s", n, fate)
	}
	return fmt.Errorf("there is no approval %d", n)
}
