// Package source reads the bytes of files for searching.
//
// A [Reader] reads one file after the other into a buffer of its own and gives
// the text in chunks of whole lines. Most files are one chunk that costs one
// system call.
//
// The rules:
//   - Lines end with "\n". A chunk ends at the end of a line, but for a line
//     longer than 16 MiB, which comes in pieces that are marked.
//   - A text comes in chunks of about 256 KiB, or of one line; see [Gather].
//   - A UTF-8 byte order mark is taken off. A text with a UTF-16 one is decoded
//     to UTF-8; halves of surrogate pairs become U+FFFD. Offsets and lines are
//     those of the text so made. UTF-32 is binary. Nothing else is decoded: a
//     chunk may hold any bytes.
//   - A NUL in the text makes a file binary: see [Binary].
//   - A file is read to the size the caller saw, even if it has grown since. If
//     it has shrunk, what is left is the text. A size of 0 says nothing, as in
//     /proc: such a file is read to its end.
//   - Memory is bounded whatever the file: a buffer of 256 KiB, which grows to
//     16 MiB at most for a line that needs it, and to 32 MiB for a text wanted
//     whole. Of that no more than 4 MiB are kept.
package source

// The limits are variables for the tests only.
var (
	// headBytes is what is read before anything else, to look for a NUL: a
	// binary file costs one read. Programs and pictures have a NUL in the
	// first bytes; more than this would cost them time, less would cost text
	// files, of which nine in ten are shorter, a second read.
	headBytes = 64 << 10

	// bufferBytes is what a Reader starts with. Hardly any source file is
	// longer, and it fits the second-level cache.
	bufferBytes = 256 << 10

	// chunkBytes is how much of a long text is given at once: what was read is
	// still in the cache when it is searched, and a search can stop soon.
	chunkBytes = 256 << 10

	// littleBytes is the first chunk of who may want no more: more than half of
	// all source files are shorter, and what is common is in the first 8 KiB.
	littleBytes = 8 << 10

	// wholeBytes is the length of the longest text that is one chunk for who
	// wants that.
	wholeBytes = 32 << 20

	// lineBytes is the length of the longest line that is not cut.
	lineBytes = 16 << 20

	// keptBytes is the largest buffer a Reader keeps from one file to the next.
	keptBytes = 4 << 20

	// rawBytes is how much UTF-16 is read at once.
	rawBytes = 64 << 10
)

// Cuts reports whether a line of a length in bytes may be given in several chunks.
func Cuts(length int64) bool { return length > int64(lineBytes) }

// Kind is what a file turned out to be.
type Kind int8

const (
	Text   Kind = iota // without a NUL
	Binary             // it has one, before or after decoding
)

// Mode says what a Reader does with a NUL.
type Mode int8

const (
	// Skip stops at a NUL. All of the chunk that has it is kept back; earlier
	// chunks, which a text over 256 KiB has, were given. Right for files
	// found by a walk: who gets the Kind Binary drops what came of the file.
	Skip Mode = iota
	// Report goes on, and says in each chunk from the first NUL on that the
	// file is binary. Right for a file that was named.
	Report
	// Search does not look for NULs: no file is Binary.
	Search
)

// Gather is how much of a text is given at once.
type Gather int8

const (
	// Chunks is about 256 KiB at a time.
	Chunks Gather = iota
	// Whole gives a text of up to 32 MiB as one chunk: to sign it.
	Whole
	// Little begins with a chunk of about 8 KiB: more may not be wanted.
	Little
)

// Chunk is a piece of a text.
type Chunk struct {
	Text   []byte // not empty; it is overwritten after the function that got it returns
	Line   int64  // number of the line of its first byte, from 1; not kept up behind a NUL
	Offset int64  // of its first byte in the text

	First bool // it begins the text
	Last  bool // it ends the text

	// A line too long for one chunk is cut, between runes if it is UTF-8.
	Inside bool // the chunk begins inside a line
	Cut    bool // the chunk ends inside a line

	Binary bool // a NUL is in the text up to here; only with Report
}

// Result is what was learned about a file.
type Result struct {
	Kind    Kind
	Bytes   int64 // of the text that was given
	Nul     int64 // offset of the first NUL in the text, -1 if none was seen
	Mark    int64 // length of the UTF-8 byte order mark that was taken off
	Decoded bool  // from UTF-16
}
