package main

import (
	"math"
	"testing"
)

func TestMissed(t *testing.T) {
	for _, c := range []struct {
		r    row
		want bool
	}{
		{row{ours: 19.9, below: 20}, false},
		{row{ours: 20, below: 20}, true},
		{row{ours: math.NaN(), below: 20}, true},
		{row{ours: 1e9}, false},
	} {
		if got := c.r.missed(); got != c.want {
			t.Errorf("%v below %v: missed = %v", c.r.ours, c.r.below, got)
		}
	}
}
