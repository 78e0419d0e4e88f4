package process

import "testing"

// TestReserve checks that a burst of commands leaves as many ready supervisors as
// it had commands, up to a limit, and that one is left after a time without
// commands. None outlives the Runner.
func TestReserve(t *testing.T) {
	r := newRunner(t, Config{Spares: 1, MaxSpares: 3})
	ready := func(n int) func() bool {
		return func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.ready) == n && r.filling == 0
		}
	}
	run(t, r, "true")
	eventually(t, "one is ready", ready(1))
	for range 5 {
		run(t, r, "true")
	}
	eventually(t, "as many are ready as are allowed", ready(3))
	r.mu.Lock()
	all := append([]*supervisor{}, r.ready...)
	r.mu.Unlock()
	r.shrink()
	eventually(t, "one is left", ready(1))
	run(t, r, "true")
	eventually(t, "a command by itself leaves one again", ready(1))
	if err := r.Close(0); err != nil {
		t.Error(err)
	}
	for _, s := range all {
		eventually(t, "it has ended", s.hasExited)
	}
}
