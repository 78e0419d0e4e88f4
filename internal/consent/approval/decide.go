package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"mcp-toolset/internal/consent/question"
)

// MaxReason is the limit of the reason of a decline, in characters.
const MaxReason = 500

// ErrChanged marks errors of decisions on an approval that is gone, was decided on, or differs from
// the one that the user saw.
var ErrChanged = errors.New("the approval has changed")

// changed is an error that is ErrChanged.
type changed struct{ text string }

func (c changed) Error() string        { return c.text }
func (c changed) Is(target error) bool { return target == ErrChanged }

func changedf(format string, args ...any) error { return changed{fmt.Sprintf(format, args...)} }

// Items returns the pending and granted approvals, or that with a number other than 0, in order
// of arrival.
func (s *Store) Items(number int) []Item { return s.list(number).Items }

// Refusals returns the refusals that hold.
func (s *Store) Refusals() []Refusal { return s.list(0).Declined }

// Generation returns a number that changes with each change of the approvals.
func (s *Store) Generation() uint64 { return s.generation.Load() }

// shown returns an error unless key is "" or that of the item.
func (i *item) shown(key string) error {
	if key != "" && key != i.shownKey() {
		return changedf("approval %d has changed since it was shown", i.number)
	}
	return nil
}

// shownKey returns the digest of an item as the user sees it: the fields that an approval is bound
// to, and the preview.
func (i *item) shownKey() string {
	h := sha256.New()
	h.Write(i.key[:])
	fmt.Fprintf(h, "%v %s", i.request.Partial, i.request.Preview)
	return hex.EncodeToString(h.Sum(nil))
}

// Approve grants the pending approval with a number for one run, or always as well. key is
// the Item.Key that the user saw; "" does not check it.
func (s *Store) Approve(n int, key string, always bool) error {
	r, err := s.decidable(n, key, always)
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
	case i != nil && !always && i.shown(key) != nil: // changed in the meantime
		return i.shown(key)
	case i != nil && i.granted.IsZero():
		i.granted = s.config.Now()
		s.generation.Add(1)
		if always {
			i.tell(Always)
		} else {
			i.tell(Approved)
		}
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
func (s *Store) decidable(n int, key string, always bool) (Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.number(n)
	switch {
	case i == nil:
		return Request{}, s.unknown(n)
	case i.request.Questions != nil:
		return Request{}, fmt.Errorf("%d is a question; answer it with `mcp-toolset answer %d`", n, n)
	case i.shown(key) != nil:
		return Request{}, i.shown(key)
	case always:
		if err := i.request.always(); err != nil {
			return Request{}, err
		}
	}
	return i.request, nil
}

// Reply answers the questions with a number. key is as for Approve.
func (s *Store) Reply(n int, key string, reply question.Reply) error {
	s.mu.Lock()
	i := s.number(n)
	err := error(nil)
	switch {
	case i == nil:
		err = s.unknown(n)
	case i.request.Questions == nil:
		err = fmt.Errorf("%d is an approval; decide with `mcp-toolset approve %d` or `mcp-toolset deny %d`", n, n, n)
	case !i.granted.IsZero():
		err = changedf("question %d was answered already", n)
	case i.shown(key) != nil:
		err = i.shown(key)
	default:
		err = reply.Check(i.request.Questions)
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	i.granted, i.reply = s.config.Now(), reply
	s.generation.Add(1)
	if i.request.Replied != nil {
		i.request.Replied(n, reply) // before a call can take the reply
	}
	s.mu.Unlock()
	return nil
}

// Deny declines a pending approval, or revokes a granted one that was not used, with a reason for
// the model, which may be "". Questions are answered with the decline. key is as for Approve.
func (s *Store) Deny(n int, key, reason string) error {
	if count := utf8.RuneCountInString(reason); count > MaxReason || !utf8.ValidString(reason) {
		return fmt.Errorf("the reason has %d characters or is not UTF-8; at most %d are allowed", count, MaxReason)
	}
	s.mu.Lock()
	i := s.number(n)
	if i != nil && i.request.Questions != nil {
		s.mu.Unlock()
		return s.Reply(n, key, question.Reply{Declined: true})
	}
	defer s.mu.Unlock()
	if i == nil {
		return s.unknown(n)
	}
	if err := i.shown(key); err != nil {
		return err
	}
	for _, w := range i.waiters {
		s.decline(n, w, i.request.Tool, i.request.Subject, reason)
		if i.request.As != "" {
			s.decline(n, w, i.request.As, i.request.Subject, reason)
		}
		w.tell(n, Denied, reason)
	}
	s.end(i, outcomeDenied)
	return nil
}

func errApproved(n int) error {
	return changedf("approval %d was approved already; let the model send the same call again", n)
}

// unknown returns the error for a number without an item, with its outcome if
// that is known.
func (s *Store) unknown(n int) error {
	if fate, ok := s.outcomes[n]; ok {
		return changedf("approval %d %s", n, fate)
	}
	return changedf("there is no approval %d", n)
}
