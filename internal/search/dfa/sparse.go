package dfa

// sparse is a set of small numbers that preserves their order and is cleared in
// constant time (Briggs and Torczon, "An efficient representation for sparse sets",
// 1993).
type sparse struct {
	dense, index []uint32
}

func newSparse(n int) sparse { return sparse{make([]uint32, 0, n), make([]uint32, n)} }

func (s *sparse) clear() { s.dense = s.dense[:0] }

// add adds v and reports whether it is new.
func (s *sparse) add(v uint32) bool {
	if i := s.index[v]; int(i) < len(s.dense) && s.dense[i] == v {
		return false
	}
	s.index[v] = uint32(len(s.dense))
	s.dense = append(s.dense, v)
	return true
}

// copy makes s equal to from.
func (s *sparse) copy(from *sparse) {
	s.clear()
	for _, v := range from.dense {
		s.add(v)
	}
}
