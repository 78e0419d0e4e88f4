package read

import (
	"bytes"
	"context"
	"io"

	"mcp-toolset/tools/file"
)

// fromEnd replaces an offset that counts from the end of a text by the number of the line.
// It reads the file once, in constant memory, and then restores the file's position. An
// offset before the first line becomes the first line.
func (r *reading) fromEnd(ctx context.Context) error {
	if r.file.offset > 0 {
		return nil
	}
	text, _ := decode(r.file.head, steadily{ctx, r.file.content()})
	if r.decoded != nil {
		text = bytes.NewReader(r.decoded)
	}
	total, err := countLines(text)
	if err == nil {
		_, err = r.file.Seek(int64(len(r.file.head)), io.SeekStart)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return file.ReadError(r.shown, err)
	}
	r.file.offset = max(total+1+r.file.offset, 1)
	return nil
}

// countLines returns the number of lines of a text. The last line needs no newline.
func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, chunk)
	open := false
	for {
		read, err := r.Read(buf)
		if read > 0 {
			n += bytes.Count(buf[:read], []byte{'\n'})
			open = buf[read-1] != '\n'
		}
		switch {
		case err == io.EOF && open:
			return n + 1, nil
		case err == io.EOF:
			return n, nil
		case err != nil:
			return 0, err
		}
	}
}
