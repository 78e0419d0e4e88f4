package file

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestMerge compares merge with what it means: the changes of the result to the new text are those
// that were not shown.
func TestMerge(t *testing.T) {
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var old, now []string
		for i := range rnd.IntN(40) {
			line := fmt.Sprintf("%d %d\n", i, rnd.IntN(3))
			old = append(old, line)
			switch rnd.IntN(8) {
			case 0:
			case 1:
				now = append(now, line, fmt.Sprintf("new %d\n", i))
			case 2:
				now = append(now, fmt.Sprintf("changed %d\n", i))
			default:
				now = append(now, line)
			}
		}
		before, after := strings.Join(old, ""), strings.Join(now, "")
		if rnd.IntN(4) == 0 {
			before = strings.TrimSuffix(before, "\n")
		}
		if before == "" {
			continue
		}
		from, to := rnd.IntN(45), rnd.IntN(45)
		shown := func(n int) bool { return from <= n && n <= to }
		got, all := (Old{Snapshot: []byte(before)}).merge([]byte(after), shown)
		if got == nil {
			t.Fatal("no result")
		}
		if from <= 1 && to >= len(now)+1 && (string(got) != after || !all) {
			t.Errorf("seed %d: all was shown, and the result is %q, %v", seed, got, all)
		}
		if from > to && string(got) != before {
			t.Errorf("seed %d: nothing was shown, and the result is %q", seed, got)
		}
		if all != (string(got) == after) {
			t.Errorf("seed %d: all is %v for %q", seed, all, got)
		}
		// No line that was shown counts as changed.
		for _, h := range Diff(string(got), after) {
			at := h.NewStart
			for _, l := range h.Lines {
				if l[0] == '+' && shown(at) && strings.HasSuffix(before, "\n") {
					t.Fatalf("seed %d: line %d was shown and counts as changed: %q to %q, result %q", seed, at, before, after, got)
				}
				if l[0] == '+' || l[0] == ' ' {
					at++
				}
			}
		}
	}
}
