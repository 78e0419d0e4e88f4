package index

// directory holds what is stored of a text of several blocks, except their filters. The
// first word is the length of the text. Two words for each block follow:
//
//	line start:32 | line end:32      of the line of the block's first byte
//	lines before:32 | slot:32        slot of its filter
type directory []uint64

// low is a mask for the lower half of a word.
const low = 1<<32 - 1

// directoryWords returns the length of a directory of n blocks.
func directoryWords(n int) int { return 1 + 2*n }

func (d directory) textSize() int64 { return int64(d[0] & low) }

func (d directory) blocks() int { return (len(d) - 1) / 2 }

// line returns the bounds of the line that contains the first byte of block b. The end
// includes the newline.
func (d directory) line(b int) (start, end int64) {
	e := d[1+2*b]
	return int64(e & low), int64(e >> 32)
}

// linesBefore returns the number of lines before the line of line(b).
func (d directory) linesBefore(b int) int64 { return int64(d[2+2*b] & low) }

// slot returns the slot of the filter of block b.
func (d directory) slot(b int) slot { return slot(d[2+2*b] >> 32) }

// linesEnd returns the end of the last line that has a byte in block b.
func (d directory) linesEnd(b int) int64 {
	if b+1 == d.blocks() {
		return d.textSize()
	}
	next := int64(b+1) * blockSize
	if start, end := d.line(b + 1); start < next {
		return end
	}
	return next
}
