package main

import (
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
	in := []float64{3, 1, 2}
	if median(in); in[0] != 3 {
		t.Error("median reordered its samples")
	}
}

func TestPercentile(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for _, c := range []struct {
		in      []float64
		p, want float64
	}{
		{hundred, 95, 95},
		{hundred, 0, 1},
		{hundred, 100, 100},
		{[]float64{2, 1}, 95, 2},
		{[]float64{2, 1}, 50, 1},
		{[]float64{7}, 1, 7},
	} {
		if got := percentile(c.in, c.p); got != c.want {
			t.Errorf("percentile %v of %d samples = %v, want %v", c.p, len(c.in), got, c.want)
		}
	}
}

func TestPairedRatio(t *testing.T) {
	// The machine was slow for the second pair; the third has no ratio.
	if got := pairedRatio([]float64{1, 100, 1, 3}, []float64{2, 200, 0, 4}); got != 0.5 {
		t.Errorf("pairedRatio = %v, want 0.5", got)
	}
}

func TestNoSamples(t *testing.T) {
	for name, got := range map[string]float64{
		"median": median(nil), "percentile": percentile(nil, 95), "pairedRatio": pairedRatio([]float64{1}, nil),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s of nothing = %v, want NaN", name, got)
		}
	}
}
