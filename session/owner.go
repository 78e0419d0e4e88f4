package session

import "strings"

// Owner identifies the owner of what outlives a call, such as a background task. Other clients do
// not see it.
type Owner struct {
	Principal string
	Session   string // "" for all requests of the principal without a session and without a handle
}

// Owner returns the owner of what a call of the session starts. A stateless request has no session
// to which a later request could belong, so its principal is the owner, unless it has a handle.
func (v View) Owner() Owner {
	o := Owner{Principal: v.Principal, Session: v.ID}
	if v.Stateless {
		o.Session = ""
		if v.Handle != "" {
			o.Session = handlePrefix + v.Handle
		}
	}
	return o
}

// handlePrefix begins the Session of an owner with a handle, which no id of a session does.
const handlePrefix = "handle "

// HasHandle reports whether a handle identifies the owner. Clients can make any number of
// handles.
func (o Owner) HasHandle() bool { return strings.HasPrefix(o.Session, handlePrefix) }

// Narrow gives a stateless session a handle. What it starts belongs to the later requests of the
// principal with the same handle, and to no others.
func (s *Session) Narrow(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Handle = handle
}

// maxOwners is the limit of the owners of an Owned with a handle, and of those without.
const maxOwners = 1000

// Owned holds a T for each owner. A server lives for months and not every owner is known to
// have ended, so that the values of at most 1,000 owners with a handle are retained, and of as
// many without: the least recently used one is dropped. It is not safe for concurrent use. The zero value is empty.
type Owned[T any] struct {
	// InUse reports whether a value must not be dropped. It may be nil.
	InUse func(*T) bool

	of      map[Owner]*owned[T]
	handles int // number of owners with a handle
	uses    uint64
}

type owned[T any] struct {
	value T
	used  uint64 // value of Owned.uses at the last use
}

// Get returns the value of an owner. It makes a zero value if there is none.
func (s *Owned[T]) Get(o Owner) *T {
	if v := s.Lookup(o); v != nil {
		return v
	}
	if s.of == nil {
		s.of = map[Owner]*owned[T]{}
	}
	if s.count(o.HasHandle()) >= maxOwners {
		s.drop(o.HasHandle())
	}
	v := &owned[T]{used: s.uses}
	s.of[o] = v
	if o.HasHandle() {
		s.handles++
	}
	return &v.value
}

// Lookup returns the value of an owner, or nil if there is none.
func (s *Owned[T]) Lookup(o Owner) *T {
	s.uses++
	v := s.of[o]
	if v == nil {
		return nil
	}
	v.used = s.uses
	return &v.value
}

// count returns the number of owners with a handle, or of those without.
func (s *Owned[T]) count(handle bool) int {
	if handle {
		return s.handles
	}
	return len(s.of) - s.handles
}

// drop removes the least recently used value of one of the kinds that is not in use.
func (s *Owned[T]) drop(handle bool) {
	var oldest Owner
	var least *owned[T]
	for o, v := range s.of {
		if o.HasHandle() == handle && (least == nil || v.used < least.used) && (s.InUse == nil || !s.InUse(&v.value)) {
			oldest, least = o, v
		}
	}
	if least != nil {
		s.remove(oldest)
	}
}

// Delete removes the value of an owner, unless it is in use.
func (s *Owned[T]) Delete(o Owner) {
	if v := s.of[o]; v != nil && (s.InUse == nil || !s.InUse(&v.value)) {
		s.remove(o)
	}
}

func (s *Owned[T]) remove(o Owner) {
	delete(s.of, o)
	if o.HasHandle() {
		s.handles--
	}
}
