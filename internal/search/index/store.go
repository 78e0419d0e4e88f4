package index

// A Store keeps the signatures of many files in few large pieces of memory
// without pointers: the garbage collector has next to nothing to do, and a
// file costs 16 bytes beside its signature. The zero value is empty and ready.
//
// Files are known by an id of the caller's choice. Memory is held for every id
// up to the largest, so they should be dense.
//
// A Store must not be changed while it is used by another goroutine. But what
// Get returned stays good and unchanged for as long as it is held.
type Store struct {
	refs   []ref   // by id
	chunks []chunk // the first is never used, so that no ref is zero
	last   int     // the chunk that is being filled
	words  int     // of all chunks
}

// ref is a chunk's number and the index of a record in it; 0 is none.
type ref uint64

func (r ref) chunk() int { return int(r >> 32) }
func (r ref) at() int    { return int(r & low) }

// A chunk holds records one after the other: a word with id and length, then
// the signature. Nothing in it is ever overwritten. A record is alive while
// the ref of its id points to it.
type chunk struct {
	words []uint64
	live  int // words of living records
}

const (
	// Chunks grow with the store to the second size. Small projects do not
	// pay for it then, and a large one has a few hundred chunks.
	minChunk = 1 << 10 // words
	maxChunk = 1 << 16

	// growth is the share of the store that a new chunk is.
	growth = 16
)

// Put keeps a copy of sig as the signature of file id, in place of the one
// before. Of a nil sig nothing is kept.
func (s *Store) Put(id uint32, sig Signature) {
	s.Delete(id)
	if sig == nil {
		return
	}
	if missing := int(id) + 1 - len(s.refs); missing > 0 {
		s.refs = append(s.refs, make([]ref, missing)...)
	}
	s.put(id, sig)
}

// Get returns the signature of file id, and nil if there is none.
func (s *Store) Get(id uint32) Signature {
	if int(id) >= len(s.refs) || s.refs[id] == 0 {
		return nil
	}
	return s.recordAt(s.refs[id])
}

// Delete forgets the signature of file id, if there is one.
func (s *Store) Delete(id uint32) {
	if int(id) >= len(s.refs) || s.refs[id] == 0 {
		return
	}
	r := s.refs[id]
	s.refs[id] = 0
	c := &s.chunks[r.chunk()]
	c.live -= 1 + len(s.recordAt(r))
	if r.chunk() != s.last {
		s.tidy(r.chunk())
	}
}

// Bytes is the memory the store holds, with what is free in it.
func (s *Store) Bytes() int64 {
	const perRef, perChunk = 8, 32
	return 8*int64(s.words) + perRef*int64(cap(s.refs)) + perChunk*int64(cap(s.chunks))
}

func (s *Store) recordAt(r ref) Signature {
	_, sig := record(s.chunks[r.chunk()].words[r.at():])
	return sig
}

// record returns the first record of words.
func record(words []uint64) (id uint32, sig Signature) {
	end := 1 + int(words[0]>>32)
	return uint32(words[0]), Signature(words[1:end:end])
}

// put writes a record at the end of the last chunk, or in a chunk of its own
// if it would leave too much of the next one empty.
func (s *Store) put(id uint32, sig Signature) {
	need := 1 + len(sig)
	n := s.last
	if len(s.chunks) == 0 || cap(s.chunks[n].words)-len(s.chunks[n].words) < need {
		if size := min(max(s.words/growth, minChunk), maxChunk); need > size/8 {
			n = s.newChunk(need)
		} else {
			n = s.newChunk(size)
			full := s.last
			s.last = n
			defer s.tidy(full)
		}
	}
	c := &s.chunks[n]
	s.refs[id] = ref(n)<<32 | ref(len(c.words))
	c.words = append(append(c.words, uint64(id)|uint64(len(sig))<<32), sig...)
	c.live += need
}

// newChunk makes room for the given number of words and returns its number.
func (s *Store) newChunk(words int) int {
	if len(s.chunks) == 0 {
		s.chunks = make([]chunk, 1)
	}
	s.words += words
	c := chunk{words: make([]uint64, 0, words)}
	for n := 1; n < len(s.chunks); n++ {
		if s.chunks[n].words == nil {
			s.chunks[n] = c
			return n
		}
	}
	s.chunks = append(s.chunks, c)
	return len(s.chunks) - 1
}

// tidy gives up chunk n when less than half of it is alive: what is alive
// moves to the last chunk. Each word moved pays for one that was freed.
func (s *Store) tidy(n int) {
	c := s.chunks[n]
	if c.words == nil || c.live > cap(c.words)/2 {
		return
	}
	for at := 0; at < len(c.words); {
		id, sig := record(c.words[at:])
		if s.refs[id] == ref(n)<<32|ref(at) {
			s.put(id, sig)
		}
		at += 1 + len(sig)
	}
	s.chunks[n] = chunk{} // only now: a new chunk at n would look like this one
	s.words -= cap(c.words)
}
