package main

import (
	"slices"
	"strings"
	"testing"
)

func TestPrintPool(t *testing.T) {
	for _, tc := range []struct {
		list, search float64
		missed       bool
	}{{4.9, 0.9, false}, {5, 0.5, true}, {1, 1, true}} {
		var out strings.Builder
		missed, err := printPool(&out, &pool{list: slices.Repeat([]float64{tc.list}, 3), search: []float64{tc.search}})
		if err != nil || missed != tc.missed || strings.Contains(out.String(), "MISSED") != tc.missed {
			t.Errorf("%v: %v, %v\n%s", tc, missed, err, &out)
		}
	}
	if missed, _ := printPool(&strings.Builder{}, &pool{}); !missed {
		t.Error("without a figure no target is met")
	}
}
