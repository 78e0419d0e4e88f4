package dfa

import "golang.org/x/sys/cpu"

var wide = cpu.X86.HasAVX2

// skip is how many bytes of a and b, of the same length, surely have no pair; it
// may stop short of the first by less than 64, and of the end.
func (p *pair) skip(a, b []byte) int {
	if !wide || len(a) < 64 {
		return 0
	}
	return pairBlocks(&a[0], &b[:len(a)][0], len(a), p)
}

// pairBlocks is skip for n bytes, 64 at a time.
//
//go:noescape
func pairBlocks(a, b *byte, n int, p *pair) int
