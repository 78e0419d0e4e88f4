// Package index tells which parts of a file a search need not read.
//
// A text is cut into blocks of 16 KiB. Of each block a small signature is
// kept: a Bloom filter with one hash function over the trigrams and 4-grams of
// the block, in folded case but for the first byte of a 4-gram. A [Query] is made of the
// literals a matching line must contain. It asks the signatures which blocks
// can hold one, and answers with ranges of whole lines.
//
// The rules:
//   - It is a filter. It may keep too much; it never drops a matching line.
//   - A signature belongs to one state of a text. The caller has to find out
//     whether the file is still in that state.
//   - Offsets and lines are those of the text that was signed. Who searches a
//     decoded text signs it decoded, or not at all.
//   - A nil [Signature] knows nothing: all of its file must be read.
//   - Lines end with "\n".
//
// The measurements behind the design: with a filter per block instead of one
// per file, big generated files do not match everything. Trigrams alone are
// too common in source text; 4-grams as they are cannot be asked for in folded
// case, and folded ones make searches for words in capitals half as slow again.
// One hash function costs least to sign, and at 1.5 bits a gram half of the
// bits are set, where a bit tells most. Asking takes as long as the memory that
// is touched: of 64 blocks together it is a few words.
package index

import "math"

const (
	// blockSize is how finely a text is filtered. Smaller blocks would
	// exclude more and need more memory, for the grams that neighbours share.
	blockSize = 16 << 10

	// reach is how many bytes of a literal are looked at. A block's grams
	// include those of the reach-1 bytes after it, so that all grams of a
	// literal are found in the block in which it starts.
	reach = 64

	// mapBits is the size of the filter before it is folded to what the
	// grams of a block need. It fits the first-level cache.
	mapBits  = 1 << 16
	mapWords = mapBits / 64

	// maxWords bounds the filter of a block to an eighth of its text. Source
	// text needs less than that; random text gets a poor filter.
	maxWords = blockSize / 8 / 8

	// maxText is what the 32-bit offsets of a signature can tell.
	maxText = math.MaxUint32
)

// A Signature is what is known of one text. The zero value, nil, is that of
// a text of which nothing is known. It is made by a [Signer] and kept by a
// [Store], and is only good inside one process.
//
// The first word is the length of the text. In a text of one block the filter
// follows. A longer one has a directory first, as the Store keeps it, but for
// the upper half of the second word of each block:
//
//	odd:1 | end of the filter:31     in words of the signature
//
// A block is odd when it holds a rune outside ASCII that folds to an ASCII
// letter. The flag of a single block is bit 32 of the first word.
type Signature []uint64

const (
	singleOdd = 1 << 32
	blockOdd  = 1 << 63
)

// Size is the number of bytes of the signature.
func (s Signature) Size() int { return 8 * len(s) }

// TextSize is the length of the signed text in bytes, and 0 for nil.
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
