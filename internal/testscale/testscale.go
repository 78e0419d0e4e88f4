// Package testscale sets the number of cases in tests. Quick scale, the default, has
// enough cases to find frequent errors. TEST_SCALE=full runs all cases and the tests that
// take minutes.
package testscale

import (
	"os"
	"testing"
)

// Full reports whether tests run at full scale.
func Full() bool { return os.Getenv("TEST_SCALE") == "full" }

// N returns the first number at quick scale and the second at full scale.
func N(quick, full int) int {
	if Full() {
		return full
	}
	return quick
}

// NeedFull skips a test at quick scale.
func NeedFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("runs with TEST_SCALE=full only")
	}
}

// Sample returns n of the cases at quick scale, evenly spaced from the first to the
// last, and all of them at full scale.
func Sample[T any](cases []T, n int) []T {
	if Full() || n >= len(cases) {
		return cases
	}
	out := make([]T, n)
	for i := range out {
		out[i] = cases[i*(len(cases)-1)/max(n-1, 1)]
	}
	return out
}
