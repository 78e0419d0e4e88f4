package concurrency

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

func isSafe(context.Context) (bool, error)   { return true, nil }
func isUnsafe(context.Context) (bool, error) { return false, nil }
func nothing(context.Context) func()         { return nil }

// BenchmarkRun is the overhead of the scheduler per call: bare, as a server has
// it, which asks for the time, and as one that writes a trace has it.
func BenchmarkRun(b *testing.B) {
	for name, config := range map[string]Config{
		"bare":     {},
		"timed":    {Now: time.Now},
		"observed": {Now: time.Now, Observe: func(Record) {}},
	} {
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/lanes=%d", name, lanes), func(b *testing.B) {
				s := New(config)
				if lanes == 1 {
					lane := s.NewLane("")
					for b.Loop() {
						_ = arrive(b, lane).Run(b.Context(), isSafe, nothing)
					}
					return
				}
				b.SetParallelism(lanes)
				b.RunParallel(func(pb *testing.PB) {
					lane := s.NewLane("")
					for pb.Next() {
						_ = arrive(b, lane).Run(b.Context(), isSafe, nothing)
					}
				})
			})
		}
	}
}

// BenchmarkLanes is the same with a thousand lanes whose unsafe calls wait for
// one another: of a safe call beside them, of an unsafe one that is disjoint
// from them, and of themselves.
func BenchmarkLanes(b *testing.B) {
	const lanes = 1000
	for name, roots := range map[string]string{"overlapping": "/a", "disjoint": ""} {
		wait := func(b *testing.B, s *Scheduler) (end func()) {
			hold := make(chan struct{})
			var wg sync.WaitGroup
			for i := range lanes {
				root := roots
				if root == "" {
					root = fmt.Sprintf("/%d", i/2) // one of two waits
				}
				ticket := arrive(b, s.NewLane("", root))
				wg.Go(func() {
					_ = ticket.Run(b.Context(), isUnsafe, func(context.Context) func() { <-hold; return nil })
				})
			}
			for exclusive(s) < lanes {
				time.Sleep(time.Millisecond)
			}
			return func() { close(hold); wg.Wait() }
		}
		for what, decide := range map[string]func(context.Context) (bool, error){"safe": isSafe, "unsafe": isUnsafe} {
			b.Run(fmt.Sprintf("%s/beside/%s", name, what), func(b *testing.B) {
				s := New(Config{Now: time.Now})
				end := wait(b, s)
				lane := s.NewLane("", "/b")
				for b.Loop() {
					_ = arrive(b, lane).Run(b.Context(), decide, nothing)
				}
				end()
			})
		}
		b.Run(name+"/all", func(b *testing.B) {
			for b.Loop() {
				s := New(Config{Now: time.Now})
				wait(b, s)()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lanes, "ns/call")
		})
	}
}

// exclusive is how many unsafe calls are at the head of their lane, or run.
func exclusive(s *Scheduler) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unsafe)
}
