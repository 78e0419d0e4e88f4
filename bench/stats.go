// Statistics of samples. They assume no distribution.

package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// confidence is the level of the interval that is printed with a ratio.
const confidence = 0.95

func summary(samples []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(samples), &benchmath.DefaultThresholds), confidence)
}

// median returns NaN for no samples.
func median(samples []float64) float64 { return percentile(samples, 50) }

// percentile returns NaN for no samples.
func percentile(samples []float64, p float64) float64 {
	return stats.Sample{Xs: samples}.Quantile(p / 100)
}

// pairedRatios returns the ratios a[i]/b[i]. What slowed a pair down slowed both
// of it, so it cancels out, as it would not in a ratio of medians.
func pairedRatios(a, b []float64) (ratios []float64) {
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			ratios = append(ratios, a[i]/b[i])
		}
	}
	return ratios
}

// showRatio formats the median of the ratios of a and b with its confidence interval.
func showRatio(format string, a, b []float64) string {
	ratios := pairedRatios(a, b)
	if len(ratios) == 0 {
		return show(format, math.NaN())
	}
	s := summary(ratios)
	return fmt.Sprintf(format+" ± %s", s.Center, s.PctRangeString())
}
