package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
)

// fake is a file in memory.
type fake struct {
	data  []byte
	short *rand.Rand // not nil: reads return fewer bytes than requested
	fail  int64      // not 0: offset at which reading fails
	calls int
	read  int64
	after func(calls int) // called after each read
}

var errDisk = errors.New("the disk is broken")

func (f *fake) ReadAt(p []byte, off int64) (n int, err error) {
	f.calls++
	defer func() {
		f.read += int64(n)
		if f.after != nil {
			f.after(f.calls)
		}
	}()
	if len(p) == 0 {
		return 0, errors.New("asked for nothing")
	}
	if f.short != nil {
		p = p[:1+f.short.IntN(len(p))]
	}
	if f.fail > 0 && off+int64(len(p)) > f.fail {
		if off >= f.fail {
			return 0, errDisk
		}
		n := copy(p[:f.fail-off], f.data[off:])
		f.fail = 0 // returned once
		return n, errDisk
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n = copy(p, f.data[off:])
	if n < len(p) && f.short == nil {
		return n, io.EOF // as in os.File
	}
	return n, nil
}

// limits makes the limits small for a test.
func limits(t testing.TB, head, buffer, chunk, whole, line, kept, raw int) {
	all := []*int{&headBytes, &bufferBytes, &chunkBytes, &wholeBytes, &lineBytes, &maxReusedBuffer, &rawBytes, &littleBytes}
	for i, small := range []int{head, buffer, chunk, whole, line, kept, raw, max(4, min(head, chunk)/2)} {
		old := *all[i]
		*all[i] = small
		t.Cleanup(func() { *all[i] = old })
	}
}

// randomLimits sets small limits of all proportions.
func randomLimits(t testing.TB, rnd *rand.Rand) {
	n := func() int { return 4 + rnd.IntN(1<<rnd.IntN(8)) }
	limits(t, n(), n(), n(), n(), n(), n(), n())
}

// collect reads a whole file and copies the chunks.
func collect(r *Reader, f io.ReaderAt, size int64) (chunks []Chunk, result Result, err error) {
	result, err = r.Read(context.Background(), f, size, func(c Chunk) bool {
		c.Text = bytes.Clone(c.Text)
		chunks = append(chunks, c)
		return true
	})
	return chunks, result, err
}

// verify returns an error if the chunks are not those of part, which begins at an
// offset and a line. final is whether part extends to the end of the text.
func verify(chunks []Chunk, part []byte, offset, line int64, final bool) error {
	rest, inside, nul := part, false, false
	for i, c := range chunks {
		last := i == len(chunks)-1
		switch {
		case len(c.Text) == 0:
			return fmt.Errorf("chunk %d is empty", i)
		case !bytes.HasPrefix(rest, c.Text):
			return fmt.Errorf("chunk %d is %q, not a prefix of %q", i, c.Text, rest)
		case c.Offset != offset:
			return fmt.Errorf("chunk %d is at %d, not %d", i, c.Offset, offset)
		case c.Line != line && !nul:
			return fmt.Errorf("chunk %d is line %d, not %d", i, c.Line, line)
		case c.First != (offset == 0):
			return fmt.Errorf("chunk %d: First is %t", i, c.First)
		case c.Last != (last && final):
			return fmt.Errorf("chunk %d of %d: Last is %t", i, len(chunks), c.Last)
		case c.Inside != inside:
			return fmt.Errorf("chunk %d: Inside is %t", i, c.Inside)
		case c.Cut != (c.Text[len(c.Text)-1] != '\n' && !c.Last):
			return fmt.Errorf("chunk %d: Cut is %t", i, c.Cut)
		case c.Cut && lineAround(part, len(part)-len(rest)+len(c.Text)) <= lineBytes:
			return fmt.Errorf("chunk %d cuts a line that is not too long", i)
		case len(c.Text) > max(headBytes, bufferBytes, chunkBytes, wholeBytes, lineBytes)+4:
			return fmt.Errorf("chunk %d has %d bytes", i, len(c.Text))
		}
		inside, nul = c.Cut, nul || c.Binary
		rest = rest[len(c.Text):]
		offset += int64(len(c.Text))
		line += int64(bytes.Count(c.Text, []byte("\n")))
	}
	if len(rest) > 0 {
		return fmt.Errorf("%q is missing at the end", rest)
	}
	return nil
}

// lineAround returns the length of the line that contains offset i, with its newline.
func lineAround(text []byte, i int) int {
	start := bytes.LastIndexByte(text[:i], '\n') + 1
	if end := bytes.IndexByte(text[i:], '\n'); end >= 0 {
		return i + end + 1 - start
	}
	return len(text) - start
}

// randomText returns lines of all lengths, of runes of all lengths.
func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	long := 1 << rnd.IntN(9)
	for range rnd.IntN(1 << rnd.IntN(7)) {
		for range rnd.IntN(long) {
			b.WriteRune([]rune("abcdefgh äß€東𝄞\uFFFD\uFEFF")[rnd.IntN(16)])
		}
		b.WriteByte('\n')
	}
	for range rnd.IntN(3) * rnd.IntN(long) {
		b.WriteByte('x')
	}
	return b.String()
}

// encodeUTF16 encodes with a byte order mark.
func encodeUTF16(text string, order binary.AppendByteOrder) (raw []byte) {
	for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
		raw = order.AppendUint16(raw, u)
	}
	return raw
}
