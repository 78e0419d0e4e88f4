package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Signer makes signatures. It holds a buffer for that, so each worker should reuse one.
// The zero value is ready for use.
type Signer struct {
	seen [mapWords]uint64 // places of the grams of a block; all zero between blocks
	sig  Signature
}

// Sign returns the signature of text, or nil if text is 4 GiB or longer. The next call
// overwrites the result; [Store.Put] copies it.
func (g *Signer) Sign(text []byte) Signature {
	if uint64(len(text)) > maxText {
		return nil
	}
	g.sig = append(g.sig[:0], uint64(len(text)))
	n := g.sig.blocks()
	if n == 1 {
		if g.block(text) {
			g.sig[0] |= singleOdd
		}
		return g.sig
	}
	g.sig = slices.Grow(g.sig, directoryWords(n))[:directoryWords(n)]
	g.lines(text, n)
	for b := range n {
		start := b * blockSize
		odd := g.block(text[start:min(start+blockSize+reach-1, len(text))])
		e := &g.sig[2+2*b]
		*e |= uint64(len(g.sig)) << 32
		if odd {
			*e |= blockOdd
		}
	}
	return g.sig
}

// Sign returns the signature of text as [Signer.Sign] does, in memory of its own.
func Sign(text []byte) Signature {
	var g Signer
	return slices.Clone(g.Sign(text))
}

// lines writes the directory of n blocks, except the parts that block computes.
func (g *Signer) lines(text []byte, n int) {
	start, before := 0, 0
	for b := range n {
		block := text[b*blockSize : min((b+1)*blockSize, len(text))]
		end := 0 // not in this block
		next := start
		if i := bytes.IndexByte(block, '\n'); i >= 0 {
			end = b*blockSize + i + 1
			next = b*blockSize + bytes.LastIndexByte(block, '\n') + 1
		}
		g.sig[1+2*b] = uint64(start) | uint64(end)<<32
		g.sig[2+2*b] = uint64(before)
		start = next
		before += bytes.Count(block, []byte{'\n'})
	}
	end := uint64(len(text))
	for b := n - 1; b >= 0; b-- {
		e := &g.sig[1+2*b]
		if *e>>32 == 0 {
			*e |= end << 32
		}
		end = *e >> 32
	}
}

// block appends the filter of text, which is a block with the bytes after it within
// reach. It reports whether the block is odd.
func (g *Signer) block(text []byte) (odd bool) {
	if seen := g.mark(text); seen&0x80808080 != 0 {
		odd = bytes.Contains(text, []byte("\u212A")) || bytes.Contains(text, []byte("\u017F"))
	}
	count := 0
	for _, w := range &g.seen {
		count += bits.OnesCount64(w)
	}
	// 1.25 to 1.9 bits per gram, except for the smallest and the largest. In a filter
	// with one hash function a bit is then set with a probability of 1-exp(-1/1.25) to
	// 1-exp(-1/1.9), 0.55 to 0.41.
	g.fold(sizes[roundUp((count*5/4+63)/64)])
	clear(g.seen[:])
	return odd
}

// fold appends a filter of n words to the signature. Each is the bitwise or of the
// words of the map for which place returns its index.
func (g *Signer) fold(n int) {
	from := 0
	for i := range n {
		to := ((i+1)*mapWords + n - 1) / n
		var or uint64
		for _, w := range g.seen[from:to] {
			or |= w
		}
		g.sig = append(g.sig, or)
		from = to
	}
}

// place returns the index of word i of the map in a filter of n words.
func place(i, n int) int { return int(uint(i) * uint(n) / mapWords) }

// mark sets the places of the grams of text and returns the bitwise or of all its
// bytes, in some order. Nearly all the time is spent in its loop. Unrolled for four
// grams of each kind it took a quarter less than with a call of set for each.
func (g *Signer) mark(text []byte) (or uint32) {
	seen := &g.seen
	for len(text) >= 8 {
		v := binary.LittleEndian.Uint64(text)
		or |= uint32(v)
		a, b := hash3(uint32(v)), hash4(uint32(v))
		c, d := hash3(uint32(v>>8)), hash4(uint32(v>>8))
		seen[a/64] |= 1 << (a & 63)
		seen[b/64] |= 1 << (b & 63)
		seen[c/64] |= 1 << (c & 63)
		seen[d/64] |= 1 << (d & 63)
		a, b = hash3(uint32(v>>16)), hash4(uint32(v>>16))
		c, d = hash3(uint32(v>>24)), hash4(uint32(v>>24))
		seen[a/64] |= 1 << (a & 63)
		seen[b/64] |= 1 << (b & 63)
		seen[c/64] |= 1 << (c & 63)
		seen[d/64] |= 1 << (d & 63)
		text = text[4:]
	}
	for ; len(text) >= 4; text = text[1:] {
		v := binary.LittleEndian.Uint32(text)
		or |= v
		g.set(hash3(v))
		g.set(hash4(v))
	}
	if len(text) == 3 {
		v := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16
		or |= v
		g.set(hash3(v))
	}
	return or
}

// set sets a place.
func (g *Signer) set(h uint32) { g.seen[h/64] |= 1 << (h % 64) }
