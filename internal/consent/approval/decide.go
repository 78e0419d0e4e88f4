package approval

import "fmt"

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
	case always:
		if err := i.request.always(); err != nil {
			return Request{}, err
		}
	}
	return i.request, nil
}

// deny declines a pending approval, or revokes a granted one that was not used.
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
