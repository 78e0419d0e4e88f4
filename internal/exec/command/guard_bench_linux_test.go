package command

import (
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"
)

// BenchmarkGuard measures the time that the guard adds to a command in the root
// MCP_BENCH_ROOT, or in one with twenty repositories if that is not set.
func BenchmarkGuard(b *testing.B) {
	root := os.Getenv("MCP_BENCH_ROOT")
	if root == "" {
		root = resolved(b.TempDir())
		for i := range 20 {
			repository(b, root+"/"+strconv.Itoa(i))
		}
		time.Sleep(2 * settled) // until the cached listings are settled
	}
	g := &guard{roots: []string{root}, log: slog.New(slog.DiscardHandler), every: time.Hour, makeQuarantine: func() (string, error) { return "", os.ErrPermission }}
	for b.Loop() {
		w, protect := g.begin(nil, []string{root})
		if removed := g.end(w); len(removed) > 0 {
			b.Fatal(removed)
		}
		b.ReportMetric(float64(len(protect)), "names")
	}
}

// BenchmarkTrueAmong measures a command that does nothing, among repositories, each of
// which costs mounts.
func BenchmarkTrueAmong(b *testing.B) {
	for _, repos := range []int{0, 1, 20, 100} {
		b.Run(strconv.Itoa(repos), func(b *testing.B) {
			c, root := newCommands(b, nil)
			for i := range repos {
				repository(b, root+"/"+strconv.Itoa(i))
			}
			for b.Loop() {
				if said, res := run(b, c, Spec{Script: "true"}); res.Code != 0 {
					b.Fatal(said)
				}
			}
		})
	}
}
