package pipeline

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
)

// TestBudget runs calls whose inputs together exceed the budget. They must run
// one after another, in order. A call larger than the budget runs alone, a
// cancelled one stops waiting, and calls with small inputs never wait.
func TestBudget(t *testing.T) {
	const size = 16 << 20
	b := newBench(t, "")
	b.room = newRoom(size)
	large := `{"do":"where","arg":"` + strings.Repeat("x", size/copies/2+1) + `"}`
	synctest.Test(t, func(t *testing.T) {
		var order []string
		hold := func(name string, input int) (ask func() bool, done func()) {
			c := &call{p: b.Pipeline, Request: Request{Arguments: make([]byte, input)}}
			got := make(chan func(), 1)
			go func() {
				give, err := c.afford(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name)
				got <- give
			}()
			synctest.Wait()
			return func() bool { synctest.Wait(); return len(got) > 0 }, func() { (<-got)() }
		}
		first, endFirst := hold("first", size/copies/2+1)
		huge, endHuge := hold("huge", 2*size)
		third, endThird := hold("third", size/copies/2)
		small, endSmall := hold("small", largeInput-1)
		if !first() || huge() || third() || !small() {
			t.Fatalf("running: first %t, huge %t, third %t, small %t", first(), huge(), third(), small())
		}
		endSmall()
		endFirst()
		if !huge() || third() {
			t.Fatalf("then: huge %t, third %t", huge(), third())
		}
		inner := &call{p: b.Pipeline, depth: 1, Request: Request{Arguments: make([]byte, 2*size)}}
		if give, err := inner.afford(t.Context()); err != nil { // it uses the room of the outer call
			t.Error(err)
		} else {
			give()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := b.run(t, ctx, "Do", large); !strings.Contains(got, "cancelled") {
			t.Errorf("cancelled: %.100s", got)
		}
		answered := make(chan string, 1)
		go func() { answered <- b.run(t, t.Context(), "Do", large) }()
		synctest.Wait()
		if len(answered) > 0 {
			t.Errorf("a call was run for which there is no room: %.100s", <-answered)
		}
		endHuge()
		if !third() {
			t.Error("the third does not run")
		}
		endThird()
		if got := <-answered; strings.Contains(got, "failed") {
			t.Errorf("at last: %.100s", got)
		}
		if got := strings.Join(order, " "); got != "first small huge third" {
			t.Errorf("order: %s", got)
		}
	})
}
