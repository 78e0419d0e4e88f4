package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Budgets of an answer.
const (
	// DefaultMaxTokens is the size of a result that clients accept without storing it.
	DefaultMaxTokens = 25_000
	// leastTokens is the minimum: room for a notice and a piece of a line.
	leastTokens = 250
	// mostTokens is the maximum. It keeps a budget that is set by mistake within a
	// meaningful range.
	mostTokens = 10_000_000
	// bytesPerToken is the usual estimate for English text and code.
	bytesPerToken = 4
	// pageFraction is the part of the budget that a page fills. The rest is a margin for
	// errors of the estimate.
	pageFraction = 0.85
	// slack is the room for notices, in characters.
	slack = 4000
	// pagedFrom is the size in bytes above which a file without a limit is always paged.
	pagedFrom = 256 << 10
	// countedTo is the limit for counting lines after the page, in bytes of the file. Above
	// it the total is not worth the time.
	countedTo = 256 << 20
	// splitTo is the limit of a line that is stored in parts, in bytes. Thousands of parts
	// are of no use.
	splitTo = 256 << 20
	// mostParts is the limit for the number of parts, for small budgets.
	mostParts = 4000
	// maxLineSearch is the limit for finding the end of a line, in bytes.
	maxLineSearch = 1 << 30
	chunk         = 256 << 10
)

// lfsPointer is what a pointer of Git LFS begins with (git-lfs, docs/spec.md).
const lfsPointer = "version https://git-lfs.github.com/spec/v1\n"

func isPointer(head []byte) bool { return bytes.HasPrefix(head, []byte(lfsPointer)) }

// request describes the part of a text file to read.
type request struct {
	path   string // as shown
	size   int64
	offset int // 1-based
	limit  int // 0: none
	budget int // bytes of numbered output

	decoded bool // the text was converted to UTF-8, with U+FFFD for invalid units
}

func (r *reading) text(ctx context.Context) (Output, error) {
	if err := r.fromEnd(ctx); err != nil {
		return Output{}, err
	}
	src, hash := r.file.content(), sha256.New()
	seen := bytes.NewBuffer(nil)
	switch size := r.file.info.Size(); {
	case size <= snapshot.MaxFile:
		seen.Grow(int(size) + 1)
		src = io.TeeReader(src, io.MultiWriter(hash, &upTo{seen, snapshot.MaxFile + 1}))
	case size <= hashedTo:
		src = io.TeeReader(src, hash)
	}
	text, encoding := decode(r.file.head, src)
	q := request{
		path: r.shown, size: r.file.info.Size(), offset: r.file.offset, limit: r.in.Limit,
		budget: r.MaxTokens * bytesPerToken, decoded: encoding != "",
	}
	p, err := readText(ctx, text, q)
	if err != nil {
		return Output{}, err
	}
	if r.decoded != nil { // UTF-16 without a byte order mark
		if p, err = readText(ctx, bytes.NewReader(r.decoded), q); err != nil {
			return Output{}, err
		}
	}
	// A part of a text in an older encoding may be valid UTF-8 by chance.
	if r.decoded == nil && (p.invalid || textfile.Shifts(seen.Bytes()) || !utf8.Valid(seen.Bytes()) && seen.Len() <= snapshot.MaxFile) && encoding == "" && r.older() {
		q.size = int64(len(r.decoded))
		if p, err = readText(ctx, bytes.NewReader(r.decoded), q); err != nil {
			return Output{}, err
		}
	}
	if r.file.info.Size() <= hashedTo && p.total >= 0 {
		hash.Sum(r.file.hash[:0])
		if r.file.info.Size() <= snapshot.MaxFile {
			r.Snapshots.Put(r.file.hash, seen.Bytes())
		}
	}
	if encoding != "" {
		r.notes = append(r.notes, "the file is encoded as "+encoding)
	}
	if isPointer(r.file.head) {
		r.notes = append(r.notes, "this is a Git LFS pointer, not the file itself; git lfs pull gets the file")
	}
	for _, note := range r.notes {
		p.text, p.notes = p.text+"\n["+note+"]", append(p.notes, note)
	}
	if splits(p.long, p.budget, r.file.offset) {
		r.file.showed(1, p.total)
		return r.parts(ctx, p)
	}
	r.file.showed(p.completeLines(r.file.offset), p.total)
	out := Output{
		Type: "text", FilePath: r.in.FilePath, Content: p.content, NumLines: p.lines,
		StartLine: r.file.offset, TotalLines: p.total, LeftOut: p.leftOut, shown: []tools.Content{tools.Text{Text: p.text}},
	}
	if p.lines > 0 {
		out.shown = r.texts(out.shown...)
	}
	return out, nil
}

// older decodes a file that is not UTF-8, or UTF-16 with a byte order mark. It reports whether it could, and adds a note on the
// encoding, or on why it is not known.
func (r *reading) older() bool {
	size := r.file.info.Size()
	if size == 0 || size > file.MaxEdit {
		return false
	}
	data, err := io.ReadAll(io.NewSectionReader(r.file, 0, size))
	if err != nil {
		return false
	}
	t, err := textfile.DecodeFile(data, file.Hint(r.env.Files, r.file.Name(), data))
	var f *textfile.Unknown
	switch {
	case errors.As(err, &f):
		r.decoded = f.Text
		r.notes = append(r.notes, "the file "+plain.Line(f.Fact)+". "+strings.TrimSuffix(f.Next, "."))
		return f.Text != nil
	case err != nil || !t.Encoding().Legacy():
		return false
	}
	r.decoded = []byte(t.Raw())
	r.notes = append(r.notes, fmt.Sprintf("the file is encoded as %s; Edit keeps that", t.Encoding()))
	return true
}

// upTo stores at most max bytes and ignores the rest. A file may be larger than its
// reported size.
type upTo struct {
	buf *bytes.Buffer
	max int
}

func (u *upTo) Write(p []byte) (int, error) {
	u.buf.Write(p[:min(len(p), u.max-u.buf.Len())])
	return len(p), nil
}

// decode returns the text of a file that begins with head, as UTF-8 without a byte order
// mark. It returns the name of the encoding if it is not UTF-8.
func decode(head []byte, r io.Reader) (text io.Reader, encoding string) {
	const markUTF8 = "\uFEFF"
	switch {
	case hasMark(head, markUTF8):
		_, _ = io.CopyN(io.Discard, r, int64(len(markUTF8))) // the mark is in head, so this cannot fail
		return r, ""
	case hasMark(head, markUTF16LE):
		encoding = "UTF-16 LE"
	case hasMark(head, markUTF16BE):
		encoding = "UTF-16 BE"
	default:
		return r, ""
	}
	// The decoder detects the byte order from the mark.
	return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()), encoding
}

// readText reads lines in one pass with constant memory. It stores the lines that fit the
// budget and only counts the others.
func readText(ctx context.Context, r io.Reader, q request) (page, error) {
	s := newScanner(q)
	buf := make([]byte, min(chunk, max(q.size+1, headSize))) // most files are small; the size is only a hint
	r = steadily{ctx, r}
	for read := int64(0); ; {
		n, err := r.Read(buf)
		s.feed(buf[:n])
		read += int64(n)
		if err == io.EOF {
			s.end()
			break
		}
		if err != nil && ctx.Err() == nil {
			err = file.ReadError(q.path, err)
		}
		if err != nil {
			return page{}, err
		}
		if s.full() && read > countedTo || s.length > maxLineSearch {
			s.uncounted = true
			s.end()
			break
		}
	}
	return s.page()
}
