// Statistics of samples.

package main

import (
	"math"
	"slices"
)

// median is NaN for no samples.
func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// percentile is the smallest sample that p percent of all do not exceed; NaN
// for no samples.
func percentile(samples []float64, p float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	if len(s) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(p / 100 * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// pairedRatio is the median of the ratios a[i]/b[i]: what slowed a pair down
// slowed both of it, so it cancels out, which it would not in a ratio of
// medians. NaN when nothing is paired.
func pairedRatio(a, b []float64) float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			ratios = append(ratios, a[i]/b[i])
		}
	}
	return median(ratios)
}
