package index

import (
	"math/bits"
	"slices"
)

// The filters of blocks are stored bit-sliced (Wong et al., "Bit transposed files",
// VLDB 1985; Goodwin et al., "BitFunnel", SIGIR 2017). 64 filters of one size form a
// group, and the same bit of all of them is one word. A query touches a few words for
// 64 blocks instead of a few for each, because most of its time is waiting for memory.

const (
	// columns is the number of filters in a group.
	columns = 64
	// minStride is the number of filters that a new group has room for.
	minStride = 4
)

// sizes lists the sizes of filters, in words: two in each octave, so that 64 of one
// size soon fill a group.
var sizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, maxWords}

// roundUp returns the index in sizes for a filter of n words.
func roundUp(n int) int {
	i, _ := slices.BinarySearch(sizes, n)
	return min(i, len(sizes)-1)
}

// group holds up to 64 filters of n words each. While it fills, word w of filter c is
// words[w*stride+c]. Once it has been full, words[64*w+b] has bit b of word w of all
// filters, that of filter c in bit c. Unused columns may have any bits.
type group struct {
	words  []uint64
	n      int32
	stride int32  // 0: nothing is allocated
	sliced bool   // whether words is in the second form
	used   uint64 // columns in use
	odd    uint64 // columns of odd blocks
}

// put adds a filter and returns its column. A column must be free.
func (g *group) put(filter []uint64, odd bool) (column int) {
	column = bits.TrailingZeros64(^g.used)
	bit := uint64(1) << column
	if g.sliced {
		for w, word := range filter {
			rows := g.words[columns*w:][:columns]
			for b := range rows {
				rows[b] = rows[b]&^bit | word>>b&1<<column
			}
		}
	} else {
		if column >= int(g.stride) {
			g.widen()
		}
		for w, word := range filter {
			g.words[w*int(g.stride)+column] = word
		}
	}
	g.used |= bit
	g.odd &^= bit
	if odd {
		g.odd |= bit
	}
	if g.full() && !g.sliced {
		for w := range int(g.n) {
			transpose((*[columns]uint64)(g.words[columns*w:]))
		}
		g.sliced = true
	}
	return column
}

// widen makes room for twice as many filters.
func (g *group) widen() {
	from, to := int(g.stride), max(minStride, 2*int(g.stride))
	words := make([]uint64, int(g.n)*to)
	for w := range int(g.n) {
		copy(words[w*to:], g.words[w*from:][:from])
	}
	g.words, g.stride = words, int32(to)
}

// free frees a column, and with the last one all memory.
func (g *group) free(column int) {
	if g.used &^= 1 << column; g.used == 0 {
		g.words, g.stride, g.sliced = nil, 0, false
	}
}

func (g *group) full() bool { return g.used == 1<<columns-1 }

// with returns the columns whose filters have place h set. It may include unused
// columns.
func (g *group) with(h uint16) (row uint64) {
	w, b := place(int(h/64), int(g.n)), h%64
	if g.sliced {
		return g.words[columns*w+int(b)]
	}
	for c, word := range g.words[w*int(g.stride):][:g.stride] {
		row |= word >> b & 1 << c
	}
	return row
}

// transpose transposes a matrix of bits: it swaps bit j of word i with bit i of word j.
// (Warren, Hacker's Delight, 7-3.)
func transpose(m *[columns]uint64) {
	mask := uint64(1<<32 - 1)
	for width := 32; width > 0; width /= 2 {
		for i := 0; i < columns; i = (i + width + 1) &^ width {
			swap := (m[i]>>width ^ m[i+width]) & mask
			m[i] ^= swap << width
			m[i+width] ^= swap
		}
		mask ^= mask << (width / 2)
	}
}
