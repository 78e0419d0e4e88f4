package sandbox

import (
	"testing"
	"time"
)

// BenchmarkApply is bash -c true after the confinement, in each tier; the time
// of applying alone is told by itself. The start of the test binary is in the
// time per call.
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
