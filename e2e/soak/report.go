//go:build unix

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// report counts calls and collects violations.
type report struct {
	mu         sync.Mutex
	counts     map[string]int
	violations []string
	more       int // violations beyond those listed
}

func (r *report) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *report) violation(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) == 50 {
		r.more++
		return
	}
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

func (r *report) failed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.violations) + r.more
}

func (r *report) print(out io.Writer) {
	total := 0
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(out, "%-20s %8d\n", what, r.counts[what])
		total += r.counts[what]
	}
	fmt.Fprintf(out, "%-20s %8d\n", "all", total)
	for _, v := range r.violations {
		fmt.Fprintln(out, "VIOLATION:", v)
	}
	fmt.Fprintf(out, "violations: %d\n", r.failed())
}
