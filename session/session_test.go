package session

import (
	"fmt"
	"testing"
)

func TestEffectsReachLaterViews(t *testing.T) {
	s := New(Config{ID: "1", Roots: []string{"/w", "/x"}})
	before := s.View()
	if before.Dir != "/w" {
		t.Fatalf("a session starts in %q, want its first root", before.Dir)
	}
	s.Apply(Effect{Dir: "/w/sub", Reads: []Read{{Path: "/w/a", Range: Range{Offset: 3}}}, Loaded: []string{"Web"}})
	if before.Dir != "/w" {
		t.Errorf("an effect changed the directory of a view taken before it")
	}
	v := s.View()
	if r, ok := v.LastRead("/w/a"); !ok || r.Range.Offset != 3 || v.Dir != "/w/sub" || !v.Loaded("Web") || v.Loaded("Other") {
		t.Errorf("after the effect: %+v", v)
	}
	s.Apply(Effect{})
	if s.View().Dir != "/w/sub" {
		t.Errorf("the zero effect changed the directory")
	}
}

func TestStatelessRemembersNothing(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}, Stateless: true})
	s.Apply(Effect{Dir: "/w/sub", Reads: []Read{{Path: "/w/a"}}, Loaded: []string{"Web"}})
	v := s.View()
	if _, read := v.LastRead("/w/a"); read || v.Dir != "/w" || v.Loaded("Web") {
		t.Errorf("a stateless session remembered: %+v", v)
	}
}

func TestZeroView(t *testing.T) {
	var v View
	if _, ok := v.LastRead("/a"); ok || v.Loaded("X") {
		t.Error("a zero view knows something")
	}
}

func TestReadRecordIsBounded(t *testing.T) {
	s := New(Config{Roots: []string{"/w"}})
	for i := range maxReads + 10 {
		s.Apply(Effect{Reads: []Read{{Path: fmt.Sprint("/w/", i)}}})
		s.Apply(Effect{Reads: []Read{{Path: "/w/kept"}}})
	}
	v := s.View()
	if len(s.reads.of) != maxReads || len(s.reads.order) != maxReads {
		t.Errorf("%d records, %d in order; want %d", len(s.reads.of), len(s.reads.order), maxReads)
	}
	if _, ok := v.LastRead("/w/0"); ok {
		t.Error("the oldest record was kept")
	}
	if _, ok := v.LastRead("/w/kept"); !ok {
		t.Error("a record renewed at every step was forgotten")
	}
}
