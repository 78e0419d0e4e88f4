package session

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
			o.Session = "handle " + v.Handle
		}
	}
	return o
}

// Payer returns the owner whose budgets pay for the models that the session uses: that of an agent is
// the client's session above it.
func (v View) Payer() Owner {
	if v.Agent != "" {
		return v.Above
	}
	return v.Owner()
}

// Forgets reports whether the session remembers nothing but what its principal has read: it is that
// of a request without a session and without a handle.
func (v View) Forgets() bool { return v.Stateless && v.Handle == "" }

// Narrow gives a stateless session a handle. What it starts belongs to the later requests of the
// principal with the same handle, and to no others.
func (s *Session) Narrow(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Handle = handle
}

// maxOwners is the limit of the owners of an Owned. It is more than a server has sessions at once,
// including those of handles.
const maxOwners = 2500

// Owned holds a T for each owner. A server lives for months, and a value may be made after its
// owner has ended, so that at most 2,500 are retained: the least recently used one is dropped.
// It is not safe for concurrent use. The zero value is empty.
type Owned[T any] struct {
	// InUse reports whether a value must not be dropped. It may be nil.
	InUse func(*T) bool

	of   map[Owner]*owned[T]
	uses uint64
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
	if len(s.of) >= maxOwners {
		s.drop()
	}
	v := &owned[T]{used: s.uses}
	s.of[o] = v
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

// drop removes the least recently used value that is not in use.
func (s *Owned[T]) drop() {
	var oldest Owner
	var least *owned[T]
	for o, v := range s.of {
		if (least == nil || v.used < least.used) && (s.InUse == nil || !s.InUse(&v.value)) {
			oldest, least = o, v
		}
	}
	if least != nil {
		delete(s.of, oldest)
	}
}

// Delete removes the value of an owner, unless it is in use.
func (s *Owned[T]) Delete(o Owner) {
	if v := s.of[o]; v != nil && (s.InUse == nil || !s.InUse(&v.value)) {
		delete(s.of, o)
	}
}
