package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSeen checks that a part of a changed file does not count as the whole
// file.
func TestSeen(t *testing.T) {
	was, is := [32]byte{1}, [32]byte{2}
	for name, tc := range map[string]struct {
		reads []Read
		want  Seen
	}{
		"a part is enough where nothing was seen": {
			[]Read{{Hash: was, First: 1, Last: 1, Total: 9}},
			Seen{Read: Read{Hash: was, First: 1, Last: 1, Total: 9}},
		},
		"a part of what has changed": {
			[]Read{{Hash: was}, {Hash: is, First: 1, Last: 1, Total: 9}},
			Seen{Read: Read{Hash: was}, Later: is, Parts: []Part{{1, 1}}},
		},
		"all of what has changed": {
			[]Read{{Hash: was}, {Hash: is}},
			Seen{Read: Read{Hash: is}},
		},
		"all of it in parts": {
			[]Read{{Hash: was}, {Hash: is, First: 5, Last: 9, Total: 9}, {Hash: is, First: 1, Last: 2, Total: 9}, {Hash: is, First: 2, Last: 4, Total: 9}},
			Seen{Read: Read{Hash: is, First: 2, Last: 4, Total: 9}},
		},
		"parts of two states": {
			[]Read{{Hash: was}, {Hash: [32]byte{3}, First: 1, Last: 8, Total: 9}, {Hash: is, First: 9, Last: 9, Total: 9}},
			Seen{Read: Read{Hash: was}, Later: is, Parts: []Part{{9, 9}}},
		},
		"parts apart": {
			[]Read{{Hash: was}, {Hash: is, First: 7, Last: 8}, {Hash: is, First: 1, Last: 2}, {Hash: is, First: 4, Last: 5}, {Hash: is, First: 9, Last: 8}},
			Seen{Read: Read{Hash: was}, Later: is, Parts: []Part{{1, 2}, {4, 5}, {7, 8}}},
		},
		"a part of what was seen": {
			[]Read{{Hash: was}, {Hash: was, First: 3, Last: 3, Total: 9}},
			Seen{Read: Read{Hash: was, First: 3, Last: 3, Total: 9}},
		},
		"cells that moved, seen in part": {
			[]Read{{Hash: was, Moved: true}, {Hash: was, First: 3, Last: 3, Total: 9}},
			Seen{Read: Read{Hash: was, Moved: true}, Later: was, Parts: []Part{{3, 3}}},
		},
		"cells that moved, seen again": {
			[]Read{{Hash: was, Moved: true}, {Hash: was}},
			Seen{Read: Read{Hash: was}},
		},
		"what is too large for a hash": {
			[]Read{{Hash: was}, {First: 1, Last: 1}},
			Seen{Read: Read{First: 1, Last: 1}},
		},
	} {
		s := New(Config{Roots: []string{"/w"}})
		for _, r := range tc.reads {
			r.Path = "/w/a"
			s.Apply(Effect{Reads: []Read{r}})
		}
		tc.want.Path = "/w/a"
		got, _ := s.View().Seen("/w/a")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, ok := New(Config{}).View().Seen("/w/a"); ok {
		t.Error("a file that nobody read was seen")
	}
}
