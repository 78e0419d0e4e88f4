package session

import "context"

// maxQuestions is the limit of the keys that Question stores. Beyond it, no question is the
// first.
const maxQuestions = 1000

// questions serializes the questions of a session that belong to no call's turn.
type questions struct {
	slot chan struct{}   // has an element while a question is open
	put  map[string]bool // keys of Question
}

// Question waits until no other question is open, or ctx ends, and opens one. first reports
// whether it is the first with this key; it is false if ctx has ended. The caller calls done
// when the question is closed.
func (s *Session) Question(ctx context.Context, key string) (first bool, done func()) {
	select {
	case s.questions.slot <- struct{}{}:
	case <-ctx.Done():
		return false, func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = !s.questions.put[key] && len(s.questions.put) < maxQuestions; first {
		s.questions.put[key] = true
	}
	return first, func() { <-s.questions.slot }
}
