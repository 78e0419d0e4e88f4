package dfa

// race reads with all cursors. It returns the number of bytes read. If it is less than
// the length, the bytes there lead some cursor to an event, and the cursors' states are
// those after these bytes.
func (s *scan) race(p0, p1, p2, p3 []byte) int {
	if s.c.wide || s.state[0]|s.state[1]|s.state[2]|s.state[3] >= smallLimit {
		return race(s.c.table, &s.state, p0, p1, p2, p3)
	}
	small := [cursors]uint16{}
	for k, v := range s.state {
		small[k] = narrow(v)
	}
	i := raceSmall(s.c.small, &small, p0, p1, p2, p3)
	for k, v := range small {
		s.state[k] = widen(v)
	}
	return i
}

func race(table []uint32, state *[cursors]uint32, p0, p1, p2, p3 []byte) int {
	s0, s1, s2, s3 := state[0], state[1], state[2], state[3]
	p1, p2, p3 = p1[:len(p0)], p2[:len(p0)], p3[:len(p0)]
	i := 0
	for ; i < len(p0); i++ {
		s0 = table[s0|uint32(p0[i])]
		s1 = table[s1|uint32(p1[i])]
		s2 = table[s2|uint32(p2[i])]
		s3 = table[s3|uint32(p3[i])]
		if (s0|s1|s2|s3)&event != 0 {
			break
		}
	}
	*state = [cursors]uint32{s0, s1, s2, s3}
	return i
}

// raceSmall is race for the small table: the loop that takes most of the time.
func raceSmall(table *smallTable, state *[cursors]uint16, p0, p1, p2, p3 []byte) int {
	// With uint32 that come from uint16, indexes need neither checks nor extension.
	s0, s1, s2, s3 := uint32(state[0]), uint32(state[1]), uint32(state[2]), uint32(state[3])
	p1, p2, p3 = p1[:len(p0)], p2[:len(p0)], p3[:len(p0)]
	i := 0
	for ; i < len(p0); i++ {
		s0 = uint32(table[s0|uint32(p0[i])])
		s1 = uint32(table[s1|uint32(p1[i])])
		s2 = uint32(table[s2|uint32(p2[i])])
		s3 = uint32(table[s3|uint32(p3[i])])
		if (s0|s1|s2|s3)&smallEvent != 0 {
			break
		}
	}
	*state = [cursors]uint16{uint16(s0), uint16(s1), uint16(s2), uint16(s3)}
	return i
}
