package session

import (
	"fmt"
	"testing"
)

// TestOwned checks that the least recently used values are dropped, except those in use.
func TestOwned(t *testing.T) {
	s := Owned[int]{InUse: func(n *int) bool { return *n == 1 }}
	owner := func(i int) Owner { return Owner{Session: fmt.Sprint(i)} }
	for i := range maxOwners {
		*s.Get(owner(i)) = i
	}
	s.Lookup(owner(0))
	for i := range 2 {
		s.Get(owner(maxOwners + i))
	}
	s.Delete(owner(1))
	s.Delete(owner(4))
	for i, want := range []bool{true, true, false, false, false, true} {
		if s.Lookup(owner(i)) != nil != want {
			t.Errorf("the value of owner %d is there: %v", i, !want)
		}
	}
	if len(s.of) != maxOwners-1 {
		t.Errorf("%d owners", len(s.of))
	}
}
