package read

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// parts stores a line that is longer than an answer in pieces that Read can show, and shows
// the first piece.
func (r *reading) parts(ctx context.Context, p page) (Output, error) {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return Output{}, file.ReadError(r.shown, err)
	}
	text, _ := decode(r.file.head, steadily{ctx, r.file})
	if r.decoded != nil {
		text = bytes.NewReader(r.decoded)
	}
	number := r.file.offset
	s := splitter{r: bufio.NewReaderSize(text, chunk), size: partSize(p.budget, number)}
	if err := s.skip(number - 1); err != nil {
		return Output{}, r.changed(err)
	}
	first, err := s.next()
	if err != nil {
		return Output{}, r.changed(err)
	}
	began := false
	family, name := r.partsName(s.size)
	folder, count, err := r.env.Results.SaveParts(family, name, func() (string, error) {
		if !began {
			began = true
			return first, nil
		}
		part, err := s.next()
		if err == io.EOF {
			err = r.settled()
		}
		return part, err
	})
	var changed *tools.Fault
	if errors.As(err, &changed) || ctx.Err() != nil {
		return Output{}, err
	}
	out := Output{Type: "parts", FilePath: r.in.FilePath, OriginalSize: r.file.info.Size(), Count: count, OutputDir: folder}
	shown := append(append(appendNumber(nil, number), first...), '\n')
	shown = fmt.Appendf(shown, "[line %d has %d bytes, more than fits an answer. ", number, p.long)
	if err != nil {
		out.Count = 1
		r.env.Log.Warn("a long line was not stored", "error", err)
		shown = fmt.Appendf(shown, "This is its beginning; the rest could not be stored (%s), so take it out with other tools", plain.Line(err.Error()))
	} else {
		shown = fmt.Appendf(shown, "Its %d parts are in %s, part-0001.txt to part-%04d.txt; this is the first, read on with the second", count, plain.Line(folder), count)
	}
	if p.total < 0 || number < p.total {
		shown = fmt.Appendf(shown, ". The lines behind it begin at offset %d", number+1)
	}
	shown = append(shown, "]\n"...)
	for _, n := range p.notes {
		shown = fmt.Appendf(shown, "[%s]\n", n)
	}
	out.shown = r.texts(tools.Text{Text: strings.TrimSuffix(string(shown), "\n")})
	return out, nil
}

// partSize returns the number of bytes of a line that one answer shows.
func partSize(room, number int) int {
	return max(int(float64(room)*pageFraction)-numberWidth(number)-1, 1)
}

// splits reports whether a line of the given length is stored in parts.
func splits(long, room, number int) bool {
	return long > 0 && long <= min(splitTo, mostParts*partSize(room, number))
}

// partsName returns the name for the parts of a line in the present state of the file, and
// the family name that parts of the same line in other states share.
func (r *reading) partsName(size int) (family, name string) {
	path := sha256.Sum256([]byte(r.file.Name()))
	state := sha256.Sum256(fmt.Appendf(nil, "%+v %x %d", r.file.identity, r.file.hash, size))
	family = fmt.Sprintf("line-%d-%x", r.file.offset, path[:6])
	return family, fmt.Sprintf("%s-%x", family, state[:8])
}

// settled returns io.EOF if the file has not changed since it was opened.
func (r *reading) settled() error {
	info, err := r.file.Stat()
	if err == nil && workspace.IdentityOf(info) == r.file.identity {
		return io.EOF
	}
	return r.changed(err)
}

// changed returns the error for a second pass over the file that differs from the first.
func (r *reading) changed(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return file.ReadError(r.shown, err)
	}
	return &tools.Fault{Fact: r.shown + " changed while it was read", Next: "Read it again."}
}

// splitter divides a line into pieces of at most size bytes, between characters.
type splitter struct {
	r     *bufio.Reader
	size  int
	have  []byte // read but not returned yet
	ended bool
}

// skip skips n lines.
func (s *splitter) skip(n int) error {
	for n > 0 {
		_, err := s.r.ReadSlice('\n')
		switch err {
		case nil:
			n--
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
	return nil
}

// next returns the next piece. After the last one it returns io.EOF.
func (s *splitter) next() (string, error) {
	for len(s.have) <= s.size && !s.ended {
		piece, err := s.r.ReadSlice('\n')
		s.have = append(s.have, piece...)
		switch err {
		case bufio.ErrBufferFull:
		case nil, io.EOF:
			s.ended = true
			s.have = bytes.TrimSuffix(bytes.TrimSuffix(s.have, []byte{'\n'}), []byte{'\r'})
		default:
			return "", err
		}
	}
	if len(s.have) == 0 {
		return "", io.EOF
	}
	raw := s.have
	if len(raw) > s.size {
		raw = trimIncompleteRune(raw[:s.size])
	}
	shown, _ := valid(raw)
	if len(shown) > s.size { // U+FFFD is longer than the invalid byte it replaces
		raw = trimIncompleteRune(raw[:s.size/3])
		shown, _ = valid(raw)
	}
	piece := string(shown)
	s.have = append(s.have[:0], s.have[len(raw):]...)
	return piece, nil
}
