package read

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/tools"
)

// parts stores a line that is longer than an answer in pieces that Read can
// show, and shows the first.
func (r *reading) parts(ctx context.Context, p page) (Output, error) {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return Output{}, readError(r.shown, err)
	}
	text, _ := decode(r.file.head, steadily{ctx, r.file})
	number := r.file.asked.Offset
	s := splitter{r: bufio.NewReaderSize(text, chunk), size: int(float64(p.room)*pageShare) - numberWidth(number) - 1}
	if err := s.skip(number - 1); err != nil {
		return Output{}, r.changed(err)
	}
	first, err := s.next()
	if err != nil {
		return Output{}, r.changed(err)
	}
	began := false
	folder, count, err := r.env.SaveParts(r.partsName(s.size), func() (string, error) {
		if !began {
			began = true
			return first, nil
		}
		return s.next()
	})
	if err != nil {
		return Output{}, fmt.Errorf("storing line %d of %s in parts: %w", number, r.shown, err)
	}
	if info, err := r.file.Stat(); err != nil || workspace.IdentityOf(info) != r.file.identity {
		return Output{}, r.changed(err)
	}
	shown := append(append(appendNumber(nil, number), first...), '\n')
	shown = fmt.Appendf(shown, "[line %d has %d bytes, more than fits an answer. Its %d parts are in %s, part-0001.txt to part-%04d.txt; this is the first, read on with the second", number, p.long, count, plain.Line(folder), count)
	if p.total < 0 || number < p.total {
		shown = fmt.Appendf(shown, ". The lines behind it begin at offset %d", number+1)
	}
	return Output{
		Type: "parts", FilePath: r.in.FilePath, OriginalSize: r.file.info.Size(), Count: count, OutputDir: folder,
		shown: r.texts(tools.Text{Text: string(shown) + "]"}),
	}, nil
}

// partsName names the parts of a line of a file as it is now.
func (r *reading) partsName(size int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %+v %d", r.file.Name(), r.file.identity, size)
	return fmt.Sprintf("line-%d-%x", r.file.asked.Offset, h.Sum(nil)[:8])
}

// changed explains a second pass over the file that did not find what the first
// one did.
func (r *reading) changed(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(r.shown, err)
	}
	return &tools.Fault{Fact: r.shown + " changed while it was read", Next: "Read it again."}
}

// splitter gives a line in pieces of at most size bytes, cut between characters.
type splitter struct {
	r     *bufio.Reader
	size  int
	have  []byte // read and not given yet
	ended bool
}

// skip passes over n lines.
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

// next is the next piece; after the last it is io.EOF.
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
		raw = wholeRunes(raw[:s.size])
	}
	shown, _ := valid(raw)
	if len(shown) > s.size { // what stands for an invalid byte is longer than it
		raw = wholeRunes(raw[:s.size/3])
		shown, _ = valid(raw)
	}
	piece := string(shown)
	s.have = append(s.have[:0], s.have[len(raw):]...)
	return piece, nil
}
