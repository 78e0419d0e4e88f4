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

// BenchmarkRun measures the overhead of the scheduler per call: without Now and
// Observe, with Now, with Left as in a server, and with Observe as for a trace.
func BenchmarkRun(b *testing.B) {
	for name, config := range map[string]Config{
		"bare":     {},
		"timed":    {Now: time.Now},
		"served":   {Now: time.Now, Left: func(Record) {}},
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

// BenchmarkLanes measures the same with a thousand lanes whose unsafe calls
// wait for one another. It measures a safe call, an unsafe call with disjoint
// roots, and these calls themselves.
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

// exclusive returns the number of unsafe calls that run or are at the head of
// their lane.
func exclusive(s *Scheduler) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unsafe)
}
