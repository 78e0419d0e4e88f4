package process

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestNothingKept checks that many commands leave no goroutine and no descriptor in
// the server.
func TestNothingKept(t *testing.T) {
	eachTier(t, func(t *testing.T, r *Runner) {
		count := func() (goroutines, files int) {
			entries, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return runtime.NumGoroutine(), len(entries)
		}
		settled := func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.ready) == 1 && r.filling == 0
		}
		run(t, r, "true")
		eventually(t, "there is a spare", settled)
		goroutines, files := count()
		for range manyCalls {
			run(t, r, "true")
		}
		eventually(t, "there is a spare", settled)
		eventually(t, "all is as it was", func() bool {
			g, f := count()
			return g <= goroutines && f <= files
		})
	})
}

// BenchmarkTrue measures a command as a server runs it, and the shell alone.
func BenchmarkTrue(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		path := bash(b)
		for b.Loop() {
			cmd := exec.Command(path, "-c", "true")
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, tier := range systemTiers() {
		for _, spares := range []int{0, 1, 2} {
			name := tier.String() + ", cold"
			if spares > 0 {
				name = tier.String() + ", spares " + string(rune('0'+spares))
			}
			b.Run(name, func(b *testing.B) {
				r := newRunner(b, Config{Tiers: []Tier{tier}, Spares: spares})
				if _, err := r.Tier(b.Context()); err != nil {
					b.Skip(err)
				}
				for b.Loop() {
					if e, _ := run(b, r, "true"); e.Code != 0 {
						b.Fatal(e)
					}
				}
			})
		}
	}
}

// BenchmarkReady measures a command with a ready supervisor, which is the usual
// case unless commands follow each other at once.
func BenchmarkReady(b *testing.B) {
	for _, tier := range systemTiers() {
		b.Run(tier.String(), func(b *testing.B) {
			r := newRunner(b, Config{Tiers: []Tier{tier}, Spares: 1})
			if _, err := r.Tier(b.Context()); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				b.StopTimer()
				eventually(b, "there is a spare", func() bool {
					r.mu.Lock()
					defer r.mu.Unlock()
					return len(r.ready) == 1
				})
				b.StartTimer()
				if e, _ := run(b, r, "true"); e.Code != 0 {
					b.Fatal(e)
				}
			}
		})
	}
}
