package index

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// holds reports whether the store holds the signature of a file.
func (s *Store) holds(id uint32, sig Signature) bool {
	r, n := s.ref(id), sig.blocks()
	switch {
	case sig == nil:
		return r == 0
	case n == 0:
		return r == refEmpty
	case n == 1:
		return r > refEmpty && r&refDirectory == 0 && s.holdsFilter(r.slot(), sig, 0)
	case r&refDirectory == 0:
		return false
	}
	d := s.directories[r.directory()]
	if d.textSize() != sig.TextSize() || d.blocks() != n {
		return false
	}
	for b := range n {
		same := d[1+2*b] == sig[1+2*b] && d[2+2*b]&low == sig[2+2*b]&low
		if !same || !s.holdsFilter(d.slot(b), sig, b) {
			return false
		}
	}
	return true
}

func (s *Store) holdsFilter(at slot, sig Signature, b int) bool {
	filter, odd := sig.filter(b, sig.blocks())
	g := &s.groups[at.group()]
	if int(g.n) != len(filter) || g.odd>>at.column()&1 != 0 != odd || g.used>>at.column()&1 == 0 {
		return false
	}
	for i := range len(filter) * 64 {
		if g.with(firstPlace(i, len(filter)))>>at.column()&1 != filter[i/64]>>(i%64)&1 {
			return false
		}
	}
	return true
}

// firstPlace returns the first place that is folded to bit i of a filter of n words.
func firstPlace(i, n int) uint16 { return uint16((i/64*mapWords+n-1)/n*64 + i%64) }

// TestStore checks that the store is equivalent to a map, for files added, changed and
// removed in any order, and that its memory matches its content.
func TestStore(t *testing.T) {
	t.Parallel()
	const files = 300
	r := rand.New(rand.NewPCG(5, 6))
	signatures := make([]Signature, 40)
	for i := range signatures {
		text := randomText(r)
		if i%2 == 0 { // many of one size
			text = text[:min(len(text), r.IntN(100))]
		}
		signatures[i] = Sign(text)
	}
	signatures[1] = nil
	var s Store
	want := map[uint32]Signature{}
	check := func(step int) {
		t.Helper()
		for id := range uint32(files + 5) {
			if !s.holds(id, want[id]) || s.ref(id) != 0 != (want[id] != nil) {
				t.Fatalf("step %d: what is known of file %d differs", step, id)
			}
		}
	}
	for step := range steps {
		id := uint32(r.IntN(files))
		if few := step / (steps / 4) % 2; r.IntN(4) < 1+2*few {
			s.Delete(id)
			delete(want, id)
		} else {
			sig := signatures[r.IntN(len(signatures))]
			want[id] = sig
			sig = slices.Clone(sig)
			s.Put(id, sig)
			clear(sig) // the store has its own copy
		}
		if step%(steps/8) == steps/8-1 {
			check(step)
		}
	}
	check(steps)
	for id := range uint32(files) {
		s.Delete(id)
	}
	if s.words != 0 {
		t.Errorf("%d words held for nothing", s.words)
	}
	s.Put(3, signatures[2])
	if !s.holds(3, signatures[2]) {
		t.Error("an empty store does not take a file in again")
	}
}

// TestGroup checks that a group is the same in both forms, and full with 64 filters.
func TestGroup(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 3, 16} {
		g := group{n: int32(n)}
		var filters [columns][]uint64
		put := func() {
			filter := make([]uint64, n)
			for i := range filter {
				filter[i] = r.Uint64()
			}
			filters[g.put(filter, false)] = filter
		}
		check := func() {
			t.Helper()
			for i := range n * 64 {
				row := g.with(firstPlace(i, n))
				for c, filter := range filters {
					if g.used>>c&1 != 0 && row>>c&1 != filter[i/64]>>(i%64)&1 {
						t.Fatalf("%d words: bit %d of filter %d is wrong", n, i, c)
					}
				}
			}
		}
		for i := range columns {
			if g.full() {
				t.Fatalf("full with %d", i)
			}
			put()
			check()
		}
		if !g.full() || !g.sliced {
			t.Fatalf("full: %v, sliced: %v", g.full(), g.sliced)
		}
		for _, c := range r.Perm(columns)[:columns-1] {
			g.free(c)
			if r.IntN(2) == 0 {
				put()
			}
			check()
		}
	}
}

// TestSparse checks that a store is sparse when most of its content was removed, from
// any place.
func TestSparse(t *testing.T) {
	t.Parallel()
	var s Store
	sig := Sign(words(400))
	const files = 20_000
	for id := range uint32(files) {
		s.Put(id, sig)
	}
	if s.Sparse() {
		t.Error("a full store is sparse")
	}
	for id := range uint32(files) {
		if id%8 != 0 {
			s.Delete(id)
		}
	}
	if !s.Sparse() {
		t.Error("with an eighth of the files it is not sparse")
	}
}

// TestSmallStore checks that a small store takes little memory.
func TestSmallStore(t *testing.T) {
	t.Parallel()
	var s Store
	if s.ref(7) != 0 || s.Bytes() != 0 {
		t.Error("an empty store holds something")
	}
	s.Delete(7)
	s.Put(3, Sign([]byte("hello, world")))
	s.Put(4, nil)
	if s.ref(4) != 0 || s.ref(3) == 0 {
		t.Error("nil is not kept as nothing")
	}
	if s.Bytes() > 500 {
		t.Errorf("%d bytes for one small file", s.Bytes())
	}
}

// TestFilterShared checks that a filter used by several goroutines returns the same as
// a separate one for each.
func TestFilterShared(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var s Store
	const files = 300
	for id := range uint32(files) {
		s.Put(id, Sign(randomText(r)))
	}
	for _, l := range []Literal{{"abc", false}, {"ABC", true}, {"absent", false}} {
		q, _ := NewQuery([][]Literal{{l}})
		shared := s.Filter(q)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for id := range uint32(files) {
					own := s.Filter(q)
					got, some := shared.AppendRanges(nil, id)
					want, wanted := own.AppendRanges(nil, id)
					if some != wanted || !slices.Equal(got, want) || shared.File(id) != own.File(id) {
						t.Errorf("%v: file %d has %v, %t instead of %v, %t", l, id, got, some, want, wanted)
					}
				}
			})
		}
		wait.Wait()
	}
}
