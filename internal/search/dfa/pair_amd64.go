package dfa

import "golang.org/x/sys/cpu"

var wide = cpu.X86.HasAVX2

// skip returns a number of bytes at the beginning of a and b, of the same length, that
// certainly have no pair. It may be up to 63 less than the number before the first pair
// or the end.
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
