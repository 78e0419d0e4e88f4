package walk

import (
	"slices"
	"testing"
)

// TestStuck checks that a worker is stuck if it has waited for the same folder, in the
// same call, since the last look.
func TestStuck(t *testing.T) {
	m := new(Monitor)
	post := NewPost(WithMonitor(t.Context(), m))
	dir := &Dir{place: &place{}}
	look := func(when string, want ...string) {
		t.Helper()
		if got := m.Stuck(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	look("nothing was begun")
	post.Enter(dir)
	look("it has just begun to wait")
	look("it still waits", "")
	post.Enter(dir)
	look("it waits for another call")
	post.Leave()
	look("it has ended")
	look("it does not wait")
	if NewPost(t.Context()) != nil {
		t.Error("a post without a monitor")
	}
}
