package server

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"mcp-toolset/pipeline"
)

// TestBinding checks that a state opens only with exactly the binding it was
// sealed with, including the boundaries between its parts.
func TestBinding(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	b := binding{"ab", "c", "d", []byte("e")}
	state := r.add(b, &round{state: 1})
	for _, other := range []binding{
		{"a", "bc", "d", []byte("e")}, {"ab", "", "cd", []byte("e")}, {"x", "c", "d", []byte("e")},
		{"ab", "x", "d", []byte("e")}, {"ab", "c", "x", []byte("e")}, {"ab", "c", "d", []byte("x")}, {"ab", "c", "d", nil},
	} {
		if got, err := r.take(other, state); got != nil || err != nil {
			t.Errorf("%v: %v %v", other, got, err)
		}
	}
	elsewhere, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := elsewhere.take(b, state); got != nil || err != nil {
		t.Errorf("another server: %v %v", got, err)
	}
	if got, err := r.take(b, state); err != nil || got == nil || got.state != 1 {
		t.Errorf("the call itself: %v %v", got, err)
	}
}

// TestTakenOnce checks that of many simultaneous requests with the same answer
// only one gets it.
func TestTakenOnce(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	b := binding{principal: "p", tool: "t"}
	state := r.add(b, &round{})
	var all sync.WaitGroup
	var got atomic.Int32
	for range 50 {
		all.Go(func() {
			if n, _ := r.take(b, state); n != nil {
				got.Add(1)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d have it", got.Load())
	}
}

// TestQuestionDigest checks that everything the user is shown changes the
// digest.
func TestQuestionDigest(t *testing.T) {
	q := pipeline.Question{Tool: "t", Title: "u", Input: json.RawMessage("{}"), Reason: "r", Always: "a"}
	for name, change := range map[string]func(*pipeline.Question){
		"tool": func(q *pipeline.Question) { q.Tool = "x" }, "title": func(q *pipeline.Question) { q.Title = "x" },
		"input": func(q *pipeline.Question) { q.Input = json.RawMessage("{ }") }, "reason": func(q *pipeline.Question) { q.Reason = "x" },
		"always": func(q *pipeline.Question) { q.Always = "" }, "parts": func(q *pipeline.Question) { q.Tool, q.Title = "tu", "" },
	} {
		other := q
		change(&other)
		if permission(other).digest == permission(q).digest {
			t.Error(name, "makes no difference")
		}
	}
	if same := q; permission(same).digest != permission(q).digest {
		t.Error("the same question differs")
	}
}

// TestRoundsAreBounded checks the limits of number and size. The oldest rounds
// are dropped, and the bytes of used or dropped ones are free again.
func TestRoundsAreBounded(t *testing.T) {
	r, err := newRounds()
	if err != nil {
		t.Fatal(err)
	}
	b := binding{principal: "p", tool: "t"}
	var states []string
	for range maxRounds + 10 {
		states = append(states, r.add(b, &round{size: 2}))
	}
	if len(r.records) != maxRounds {
		t.Errorf("%d questions are kept", len(r.records))
	}
	for i, state := range states {
		if n, _ := r.take(b, state); (n != nil) != (i >= 10) {
			t.Errorf("question %d: %v", i, n)
		}
	}
	if r.bytes != 0 || len(r.records) != 0 {
		t.Errorf("left: %d bytes in %d", r.bytes, len(r.records))
	}
	states = nil
	for range 5 {
		states = append(states, r.add(b, &round{size: maxRoundBytes / 3}))
		if r.bytes > maxRoundBytes {
			t.Fatalf("%d bytes", r.bytes)
		}
	}
	for i, state := range states {
		if n, _ := r.take(b, state); (n != nil) != (i >= 2) {
			t.Errorf("large question %d: %v", i, n)
		}
	}
	whole := r.add(b, &round{size: maxRoundBytes + 1})
	if n, _ := r.take(b, whole); n == nil {
		t.Error("a question larger than all together is not kept though it is alone")
	}
}
