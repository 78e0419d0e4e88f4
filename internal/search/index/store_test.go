package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The store holds what a map would, and what was got stays as it was.
func TestStore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var s Store
	want := map[uint32]Signature{}
	type got struct{ held, was Signature }
	var held []got
	live := 0
	for step := range 20_000 {
		id := uint32(r.IntN(500))
		live -= len(want[id])
		if r.IntN(4) == 0 {
			s.Delete(id)
			delete(want, id)
		} else {
			sig := randomSignature(r)
			s.Put(id, sig)
			want[id] = slices.Clone(sig)
			clear(sig) // the store has its own
		}
		live += len(want[id])
		if step%100 == 0 {
			id := uint32(r.IntN(500))
			held = append(held, got{s.Get(id), slices.Clone(s.Get(id))})
		}
		if step%1000 == 999 {
			for id := range uint32(510) {
				if !slices.Equal(s.Get(id), want[id]) || (s.Get(id) == nil) != (want[id] == nil) {
					t.Fatalf("step %d: signature %d differs", step, id)
				}
			}
			if words := int(s.Bytes() / 8); words > 5*live/2+2*maxChunk {
				t.Fatalf("step %d: %d words held for %d", step, words, live)
			}
		}
	}
	for _, g := range held {
		if !slices.Equal(g.held, g.was) {
			t.Fatal("a signature changed while it was held")
		}
	}
	for id := range uint32(500) {
		s.Delete(id)
	}
	if s.Bytes() > 8*(maxChunk+4000) {
		t.Errorf("%d bytes held for nothing", s.Bytes())
	}
}

func randomSignature(r *rand.Rand) Signature {
	sig := make(Signature, 1+r.IntN([]int{1, 10, 300, 300, 20_000}[r.IntN(5)]))
	for i := range sig {
		sig[i] = r.Uint64()
	}
	return sig
}

// A small store is small.
func TestSmallStore(t *testing.T) {
	t.Parallel()
	var s Store
	if s.Get(7) != nil || s.Bytes() != 0 {
		t.Error("an empty store holds something")
	}
	s.Delete(7)
	s.Put(3, Sign([]byte("hello, world")))
	s.Put(4, nil)
	if s.Get(4) != nil || s.Get(3) == nil {
		t.Error("nil is not kept as nothing")
	}
	if s.Bytes() > 9000 {
		t.Errorf("%d bytes for one small file", s.Bytes())
	}
}
