package tools

import (
	"testing"
	"time"
)

func TestForeground(t *testing.T) {
	for _, one := range []struct {
		patient     bool
		limit, want time.Duration
	}{
		{true, 110 * time.Second, 110 * time.Second},
		{false, 110 * time.Second, 50 * time.Second},
		{false, 30 * time.Second, 30 * time.Second},
	} {
		if got := (&Env{Patient: one.patient}).Foreground(one.limit); got != one.want {
			t.Errorf("patient %v, limit %v: %v, want %v", one.patient, one.limit, got, one.want)
		}
	}
}
