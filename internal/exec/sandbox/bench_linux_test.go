package sandbox

import (
	"testing"
	"time"
)

// BenchmarkApply runs bash -c true in each tier, with the sandbox applied and
// without. The time for applying alone is a separate metric. The time per call
// includes the start of the test binary.
func BenchmarkApply(b *testing.B) {
	for _, at := range []tier{plain, spaces, userns} {
		if at.available() != nil {
			continue
		}
		for _, free := range []bool{true, false} {
			for _, readOnly := range []bool{false, true} {
				if free && readOnly {
					continue
				}
				name := at.name + "/free"
				if !free {
					name = at.name + "/confined"
				}
				if readOnly {
					name += " read-only"
				}
				b.Run(name, func(b *testing.B) {
					s := newScratch(b)
					write(b, s.root+"/.git/config", "x\n")
					p := s.policy
					p.ReadOnly = readOnly
					p.Protect = []string{s.root + "/.git/config"}
					var took time.Duration
					for b.Loop() {
						res := job{Policy: p, Free: free, Args: []string{"bash", "-c", "true"}}.run(b, at, s.root)
						took += res.Took
					}
					b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs-apply/op")
				})
			}
		}
	}
}
