package approval

import "fmt"

// approve grants a pending approval, for always as well if that is asked for.
func (s *Store) approve(n int, always bool) error {
	r, err := s.decidable(n, always)
	if err != nil {
		return err
	}
	if always {
		// Nothing is granted unless all of it is.
		if err := s.remember(r, socketPatience); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	switch {
	case i != nil && i.granted.IsZero():
		i.granted = s.config.Now()
	case always: // it is remembered, whatever became of the one call
	case i != nil:
		return errApproved(n)
	default:
		return s.unknown(n)
	}
	return nil
}

// decidable is the request of a number that is held. One that was approved
// already can still be allowed for always.
func (s *Store) decidable(n int, always bool) (Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	switch {
	case i == nil:
		return Request{}, s.unknown(n)
	case always:
		if err := i.request.always(); err != nil {
			return Request{}, err
		}
	}
	return i.request, nil
}

// deny declines what is pending, or takes back what was granted and not used.
func (s *Store) deny(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	if i == nil {
		return s.unknown(n)
	}
	for _, session := range i.sessions {
		s.decline(n, session, i.request.Tool, i.request.Subject)
	}
	s.end(i, fateDenied)
	return nil
}

func errApproved(n int) error {
	return fmt.Errorf("approval %d was given already; the same call has to be sent again", n)
}

// unknown says what became of a number.
func (s *Store) unknown(n int) error {
	if fate, ok := s.fates[n]; ok {
		return fmt.Errorf("approval %d %s", n, fate)
	}
	return fmt.Errorf("there is no approval %d", n)
}
