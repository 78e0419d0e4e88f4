package index

// A directory is what is kept of a text of several blocks beside their filters. Its
// first word is the length of the text; of each block follow two:
//
//	line start:32 | line end:32      of the line of the block's first byte
//	lines before:32 | slot:32        where its filter is
type directory []uint64

// low is the lower half of a word.
const low = 1<<32 - 1

// directoryWords is the length of a directory of n blocks.
func directoryWords(n int) int { return 1 + 2*n }

func (d directory) textSize() int64 { return int64(d[0] & low) }

func (d directory) blocks() int { return (len(d) - 1) / 2 }

// line returns the bounds of the line that holds the first byte of block b, the
// end with its newline.
func (d directory) line(b int) (start, end int64) {
	e := d[1+2*b]
	return int64(e & low), int64(e >> 32)
}

// linesBefore returns the number of lines before the line of line(b).
func (d directory) linesBefore(b int) int64 { return int64(d[2+2*b] & low) }

// slot is where the filter of block b is.
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
