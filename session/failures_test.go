package session

import (
	"fmt"
	"testing"
)

func TestFailures(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}})
	fail := func(key string) { s.Apply(Effect{Failed: []string{key}}) }
	fail("a")
	fail("b")
	fail("a")
	v := s.View()
	if v.Failures("a") != 2 || v.Failures("b") != 1 || v.Failures("c") != 0 {
		t.Errorf("a %d, b %d, c %d", v.Failures("a"), v.Failures("b"), v.Failures("c"))
	}
	for i := range maxFailures - 1 {
		fail(fmt.Sprint(i))
	}
	if v.Failures("b") != 0 || v.Failures("a") != 2 || len(s.failures.count) != maxFailures {
		t.Errorf("the oldest is kept, or another is gone: %d remembered", len(s.failures.count))
	}
	var none View
	if none.Failures("a") != 0 {
		t.Error("a zero view knows of a failure")
	}
}
