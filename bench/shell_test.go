package main

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestTurns(t *testing.T) {
	var order []string
	way := func(name string) *shellWay {
		return &shellWay{name: name, run: func(context.Context) (float64, error) {
			order = append(order, name)
			return float64(len(order)), nil
		}}
	}
	a, b := way("a"), way("b")
	if err := turns(t.Context(), []*shellWay{a, b}, 2); err != nil || !slices.Equal(a.ms, []float64{3, 5}) || !slices.Equal(b.ms, []float64{4, 6}) {
		t.Errorf("%v %v %v", a.ms, b.ms, err)
	}
	bad := &shellWay{name: "bad", run: func(context.Context) (float64, error) { return 0, errors.New("broken") }}
	if err := turns(t.Context(), []*shellWay{a, bad}, 2); err == nil || err.Error() != "bad: broken" {
		t.Error(err)
	}
}

func TestAloneWay(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	if ms, err := aloneWay("", "true").run(t.Context()); err != nil || ms <= 0 {
		t.Error(ms, err)
	}
	if _, err := aloneWay("", "false").run(t.Context()); err == nil {
		t.Error("a failure is a measurement")
	}
}

func TestPrintShells(t *testing.T) {
	way := func(ms ...float64) *shellWay { return &shellWay{name: "w", ms: ms} }
	for slow, want := range map[float64]bool{999: false, 1000: true} {
		var b strings.Builder
		missed, err := printShells(&b, &shells{small: []*shellWay{way(1, 2, 3), way(3, 4, 5)}, large: []*shellWay{way(500), way(slow)}, first: []float64{24}})
		if err != nil || missed != want || strings.Contains(b.String(), "MISSED") != want || !strings.Contains(b.String(), "2.0 ms") {
			t.Errorf("%v ms: %v %v\n%s", slow, missed, err, &b)
		}
	}
}

func TestPrintOver(t *testing.T) {
	for took, want := range map[float64]bool{7.9: false, 8: true} {
		var b strings.Builder
		ways := []*shellWay{{name: "alone", ms: []float64{2}}, {name: "ours", ms: []float64{took}, over: 6}}
		if missed := printOver(&b, "T", ways); missed != want || strings.Contains(b.String(), "MISSED") != want {
			t.Errorf("%v ms: %v\n%s", took, missed, &b)
		}
	}
}
