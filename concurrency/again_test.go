package concurrency

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// TestAgain checks that a call without a place delays no other call and gets a
// new place after all calls that have arrived since. Its former place is free
// meanwhile.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := New(Config{PerLane: 2, Queue: 2}).NewLane("")
		arrive := func() *Ticket {
			t.Helper()
			ticket, err := lane.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			return ticket
		}
		var ran []string
		run := func(ticket *Ticket, name string) {
			if err := ticket.Run(t.Context(), func(context.Context) (bool, error) { return false, nil }, func(context.Context) func() {
				ran = append(ran, name)
				return nil
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		first, second := arrive(), arrive()
		if first.Lane() != lane || !first.Before(second) || second.Before(first) {
			t.Error("who came first is not known")
		}
		first.Leave() // gives up its place
		run(second, "second")
		third := arrive()
		again, err := first.Again()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := third.Again(); err != nil { // its former place left room
			t.Error(err)
		}
		run(again, "first")
		if got := strings.Join(ran, " "); got != "second first" {
			t.Errorf("ran %s", got)
		}
		late := arrive()
		if _, err := lane.Arrive(); !errors.Is(err, ErrFull) {
			t.Errorf("a third place of two: %v", err)
		}
		if _, err := first.Again(); !errors.Is(err, ErrFull) {
			t.Errorf("back where there is no room: %v", err)
		}
		late.Leave()
	})
}
