// Package source reads the bytes of files for searching.
//
// A [Reader] reads one file after the other into a buffer of its own and passes on the
// text in chunks of whole lines. Most files are one chunk that costs one system call.
//
// The rules:
//   - Lines end with "\n". A chunk ends at the end of a line, except for a line longer
//     than 16 MiB, which comes in pieces that are marked.
//   - A text comes in chunks of about 256 KiB, or of one line; see [Gather].
//   - A UTF-8 byte order mark is removed. A text with a UTF-16 one is decoded to UTF-8;
//     halves of surrogate pairs become U+FFFD. Offsets and lines are those of the
//     resulting text. UTF-32 is binary. Nothing else is decoded: a chunk may hold any
//     bytes.
//   - A NUL in the text makes a file binary: see [Binary].
//   - A file is read to the size that the caller passes, even if it has grown since. If
//     it has shrunk, the text ends earlier. A size of 0 means unknown, as in /proc:
//     such a file is read to its end.
//   - Memory is bounded for any file: a buffer of 256 KiB, which grows to at most 16
//     MiB for a long line, and to 32 MiB for a text requested whole. At most 4 MiB of
//     it are retained.
package source

// The limits are variables for the tests only.
var (
	// headBytes is the size of the first read, in which to look for a NUL: a binary
	// file costs one read. Programs and images have a NUL in their first bytes. A
	// larger size would slow these down; a smaller one would cost text files, nine in
	// ten of which are shorter, a second read.
	headBytes = 64 << 10

	// bufferBytes is the initial size of a Reader's buffer. Hardly any source file is
	// longer, and it fits the second-level cache.
	bufferBytes = 256 << 10

	// chunkBytes is the size of a chunk of a long text. Such a chunk is still in the
	// cache when it is searched, and a search can stop soon.
	chunkBytes = 256 << 10

	// littleBytes is the size of the first chunk for callers that may need no more.
	// More than half of all source files are shorter, and common words occur in the
	// first 8 KiB.
	littleBytes = 8 << 10

	// wholeBytes is the limit of a text that is passed on as one chunk with Whole.
	wholeBytes = 32 << 20

	// lineBytes is the limit of a line that is not cut.
	lineBytes = 16 << 20

	// maxReusedBuffer is the limit of the buffer that a Reader retains for the next file.
	maxReusedBuffer = 4 << 20

	// rawBytes is the size of one read of UTF-16.
	rawBytes = 64 << 10
)

// Cuts reports whether a line of a length in bytes may come in several chunks.
func Cuts(length int64) bool { return length > int64(lineBytes) }

// Kind is the kind of a file's content.
type Kind int8

const (
	Text   Kind = iota // without a NUL
	Binary             // with a NUL, before or after decoding
)

// Mode determines what a Reader does with a NUL.
type Mode int8

const (
	// Skip stops at a NUL. It does not pass on the chunk that contains it; earlier
	// chunks, which a text over 256 KiB has, were passed on. It is for files found by a
	// walk: if the Kind is Binary, the caller drops the results of the file.
	Skip Mode = iota
	// Report continues, and marks each chunk from the first NUL on as binary. It is for
	// a file that the user named.
	Report
	// Search does not look for NULs: no file is Binary.
	Search
)

// Gather determines the size of chunks.
type Gather int8

const (
	// Chunks passes on about 256 KiB at a time.
	Chunks Gather = iota
	// Whole passes on a text of up to 32 MiB as one chunk, to sign it.
	Whole
	// Little begins with a chunk of about 8 KiB, if more may not be needed.
	Little
)

// Chunk is a piece of a text.
type Chunk struct {
	Text   []byte // not empty; overwritten after the function that received it returns
	Line   int64  // number of the line of its first byte, from 1; not counted after a NUL
	Offset int64  // of its first byte in the text

	First bool // whether it begins the text
	Last  bool // whether it ends the text

	// A line too long for one chunk is cut, between runes if it is UTF-8.
	Inside bool // the chunk begins inside a line
	Cut    bool // the chunk ends inside a line

	Binary bool // the text up to here contains a NUL; only with Report
}

// Result describes a file that was read.
type Result struct {
	Kind    Kind
	Bytes   int64 // of the text that was passed on
	Nul     int64 // offset of the first NUL in the text, -1 if none was seen
	Mark    int64 // length of the UTF-8 byte order mark that was removed
	Decoded bool  // from UTF-16
}
