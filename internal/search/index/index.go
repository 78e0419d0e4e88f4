// Package index determines which parts of a file a search need not read.
//
// A text is divided into blocks of 16 KiB. For each block a small signature is stored:
// a Bloom filter with one hash function over the trigrams and 4-grams of the block, in
// folded case except for the first byte of a 4-gram. A [Query] consists of the literals
// that a matching line must contain. A [Filter] looks them up in the signatures and
// returns ranges of whole lines.
//
// The rules:
//   - It is a prefilter. It may return too much, but never excludes a matching line.
//   - A signature belongs to one state of a text. The caller must check that the file
//     is still in that state.
//   - Offsets and lines are those of the signed text. To search decoded text, the
//     caller must sign it decoded, or not at all.
//   - A nil [Signature] excludes nothing: all of its file must be read.
//   - Lines end with "\n".
//
// These measurements led to the design. With a filter per block instead of per file,
// large generated files do not match everything. Trigrams alone are too common in
// source text. Unfolded 4-grams cannot be looked up in folded case, and folded ones
// make searches for words in capitals half as slow again. One hash function is the
// cheapest to sign. At 1.5 bits per gram half of the bits are set, so that a bit has
// the most information. A lookup takes as long as reading its memory: a few words for
// 64 blocks.
package index

import "math"

const (
	// blockSize is the granularity of the filter, in bytes. Smaller blocks would
	// exclude more, but need more memory for the grams that neighbours share.
	blockSize = 16 << 10

	// reach is the number of bytes of a literal that are looked up. A block's grams
	// include those of the reach-1 bytes after it, so that all grams of a literal are
	// in the block in which it starts.
	reach = 64

	// mapBits is the size of the filter before it is folded to the size that the grams
	// of a block need. It fits the first-level cache.
	mapBits  = 1 << 16
	mapWords = mapBits / 64

	// maxWords limits the filter of a block to an eighth of its text. Source text needs
	// less; random text gets a poor filter.
	maxWords = blockSize / 8 / 8

	// maxText is the limit of the 32-bit offsets of a signature.
	maxText = math.MaxUint32
)

// Signature is the summary of one text. The zero value, nil, is that of an unknown
// text. A [Signer] makes it and a [Store] stores it. It is valid only in this process.
//
// The first word is the length of the text. In a text of one block the filter follows.
// In a longer one a directory comes first, in the form of the Store except for the
// upper half of the second word of each block:
//
//	odd:1 | end of the filter:31     in words of the signature
//
// A block is odd if it contains a rune outside ASCII that folds to an ASCII letter. The
// flag of a single block is bit 32 of the first word.
type Signature []uint64

const (
	singleOdd = 1 << 32
	blockOdd  = 1 << 63
)

// Size returns the size of the signature in bytes.
func (s Signature) Size() int { return 8 * len(s) }

// TextSize returns the length of the signed text in bytes, or 0 for nil.
func (s Signature) TextSize() int64 {
	if s == nil {
		return 0
	}
	return int64(s[0] & low)
}

func (s Signature) blocks() int {
	return int((s.TextSize() + blockSize - 1) / blockSize)
}

// filter returns the filter of block b of n, and whether the block is odd.
func (s Signature) filter(b, n int) (bits []uint64, odd bool) {
	if n == 1 {
		return s[1:], s[0]&singleOdd != 0
	}
	start := directoryWords(n)
	if b > 0 {
		start = s.filterEnd(b - 1)
	}
	return s[start:s.filterEnd(b)], s[2+2*b]&blockOdd != 0
}

func (s Signature) filterEnd(b int) int {
	return int(s[2+2*b] >> 32 &^ (1 << 31))
}
