package dfa

import (
	"encoding/binary"
	"slices"
)

// class is an automaton for the UTF-8 of a set of runes. Nodes that accept the same
// rest are one node, so \w needs about 300 of them instead of thousands. Edges lead to
// nodes or to classEnd.
type class struct {
	nodes [][]edge
	root  int // -1: the set is empty
	ids   map[string]uint32
	full  [4]uint32 // by n: the node for any n continuation bytes; classEnd for none
	key   []byte
}

const classEnd = ^uint32(0)

type runeRange struct{ lo, hi rune }

// newClass builds the automaton of pairs of first and last rune, in any order. It omits
// surrogates and, except for a Text, '\n': lines do not contain them.
func newClass(pairs []rune, newlines bool) *class {
	cl := &class{root: -1, ids: map[string]uint32{}}
	cl.full[0] = classEnd
	for n := 1; n < len(cl.full); n++ {
		cl.full[n] = cl.node([]edge{{0x80, 0xbf, cl.full[n-1]}})
	}
	ranges := normal(pairs, newlines)
	var root []edge
	lead := [...]int{1: 0, 2: 0xc0, 3: 0xe0, 4: 0xf0}
	for n := 1; n <= 4; n++ {
		lo := rune(0)
		if n > 1 {
			lo = runeMax[n-1] + 1
		}
		root = append(root, cl.edges(clip(ranges, lo, runeMax[n]), n-1, lead[n])...)
	}
	if len(root) > 0 {
		cl.root = int(cl.node(root))
	}
	cl.ids, cl.key = nil, nil
	return cl
}

// normal sorts and merges ranges.
func normal(pairs []rune, newlines bool) []runeRange {
	var in []runeRange
	for i := 0; i+1 < len(pairs); i += 2 {
		in = append(in, runeRange{max(pairs[i], 0), min(pairs[i+1], runeMax[4])})
	}
	slices.SortFunc(in, func(a, b runeRange) int { return int(a.lo) - int(b.lo) })
	var merged []runeRange
	for _, r := range in {
		if n := len(merged); n > 0 && r.lo <= merged[n-1].hi+1 {
			merged[n-1].hi = max(merged[n-1].hi, r.hi)
		} else if r.lo <= r.hi {
			merged = append(merged, r)
		}
	}
	out := clip(merged, 0, '\n'-1)
	if newlines {
		out = append(out, clip(merged, '\n', '\n')...)
	}
	out = append(out, clip(merged, '\n'+1, 0xd7ff)...)
	return append(out, clip(merged, 0xe000, runeMax[4])...)
}

// clip returns the part of sorted ranges from lo to hi.
func clip(ranges []runeRange, lo, hi rune) []runeRange {
	var out []runeRange
	for _, r := range ranges {
		if r.lo > hi {
			break
		}
		if r = (runeRange{max(r.lo, lo), min(r.hi, hi)}); r.lo <= r.hi {
			out = append(out, r)
		}
	}
	return out
}

// edges returns the edges of a node that reads a byte before rest continuation bytes.
// The byte is base plus the bits of the runes above those of the rest. It modifies
// ranges.
func (cl *class) edges(ranges []runeRange, rest int, base int) []edge {
	var out []edge
	add := func(lo, hi byte, to uint32) {
		if n := len(out); n > 0 && out[n-1].out == to && out[n-1].hi+1 == lo {
			out[n-1].hi = hi
			return
		}
		out = append(out, edge{lo, hi, to})
	}
	shift := 6 * rest
	if rest == 0 {
		for _, r := range ranges {
			add(byte(base+int(r.lo)), byte(base+int(r.hi)), classEnd)
		}
		return out
	}
	for size := rune(1) << shift; len(ranges) > 0; {
		r := ranges[0]
		first := r.lo &^ (size - 1)
		to := cl.full[rest]
		if r.lo > first || r.hi < first+size-1 {
			var below []runeRange
			for _, r := range clip(ranges, first, first+size-1) {
				below = append(below, runeRange{r.lo - first, r.hi - first})
			}
			to = cl.node(cl.edges(below, rest-1, 0x80))
		}
		add(byte(base+int(first>>shift)), byte(base+int(first>>shift)), to)
		for len(ranges) > 0 && ranges[0].hi < first+size {
			ranges = ranges[1:]
		}
		if len(ranges) > 0 {
			ranges[0].lo = max(ranges[0].lo, first+size)
		}
	}
	return out
}

// node returns the number of the node with these edges.
func (cl *class) node(edges []edge) uint32 {
	cl.key = cl.key[:0]
	for _, e := range edges {
		cl.key = binary.LittleEndian.AppendUint32(append(cl.key, e.lo, e.hi), e.out)
	}
	id, ok := cl.ids[string(cl.key)]
	if !ok {
		id = uint32(len(cl.nodes))
		cl.ids[string(cl.key)] = id
		cl.nodes = append(cl.nodes, edges)
	}
	return id
}
