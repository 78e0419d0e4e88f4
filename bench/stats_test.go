package main

import (
	"math"
	"slices"
	"testing"
)

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		in      []float64
		p, want float64
	}{
		{[]float64{7}, 50, 7},
		{[]float64{9, 1, 5}, 50, 5},
		{[]float64{4, 1, 3, 2}, 50, 2.5},
		{[]float64{2, 3, 1}, 0, 1},
		{[]float64{2, 3, 1}, 100, 3},
		{[]float64{2, 1}, 95, 2},
	} {
		in := slices.Clone(c.in)
		if got := percentile(in, c.p); got != c.want {
			t.Errorf("percentile %v of %v = %v, want %v", c.p, c.in, got, c.want)
		}
		if !slices.Equal(in, c.in) {
			t.Errorf("percentile reordered %v", c.in)
		}
	}
	if got := percentile(nil, 95); !math.IsNaN(got) {
		t.Errorf("percentile of nothing = %v, want NaN", got)
	}
}

func TestShowRatio(t *testing.T) {
	// The machine was slow for the second pair; the third has no ratio.
	a, b := []float64{1, 100, 1, 3, 2, 2, 2}, []float64{2, 200, 0, 4, 4, 4, 4}
	if got := showRatio("%.2f", a, b); got != "0.50 ± 50%" {
		t.Errorf("%q", got)
	}
	if !slices.Equal(a, []float64{1, 100, 1, 3, 2, 2, 2}) {
		t.Error("the samples were reordered")
	}
	if got := showRatio("%.2f", []float64{1}, nil); got != "-" {
		t.Errorf("a ratio of nothing is %q", got)
	}
}
