package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"mcp-toolset/internal/fault"
)

// format is a kind of picture.
type format struct {
	name, mime string
	taken      bool // models take it as it is
	lossless   bool // so most likely text or line art

	starts func(start []byte) bool          // whether a file that starts so is one
	header func(s *source, h *header) error // fills in all but the format
	// walk goes over a whole file without decoding it and counts its frames;
	// nil if there is one.
	walk   func(data []byte) (frames int, err error)
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// startBytes is how much of a file tells its format.
const startBytes = 18

var formats = []*format{
	{"PNG", "image/png", true, true, prefix("\x89PNG\r\n\x1a\n"), pngHeader, pngWalk, png.DecodeConfig, png.Decode},
	{"JPEG", "image/jpeg", true, false, prefix("\xff\xd8\xff"), jpegHeader, jpegWalk, jpeg.DecodeConfig, jpeg.Decode},
	{"GIF", "image/gif", true, true, prefix("GIF87a", "GIF89a"), gifHeader, gifWalk, gif.DecodeConfig, gif.Decode},
	{"WebP", "image/webp", true, false, startsWebP, webpHeader, webpWalk, webp.DecodeConfig, webp.Decode},
	{"BMP", "image/bmp", false, true, startsBMP, bmpHeader, nil, bmp.DecodeConfig, bmp.Decode},
	{"TIFF", "image/tiff", false, true, prefix("II*\x00", "MM\x00*"), tiffHeader, tiffWalk, tiff.DecodeConfig, tiff.Decode},
}

func prefix(ones ...string) func([]byte) bool {
	return func(start []byte) bool {
		for _, p := range ones {
			if bytes.HasPrefix(start, []byte(p)) {
				return true
			}
		}
		return false
	}
}

// header is what the header of a picture says.
type header struct {
	format        *format
	width, height int64 // as stored
	memory        int64 // bytes that decoding takes, estimated
	turn          int   // EXIF orientation, 1 to 8
	lossless      bool
}

// readHeader reads the header of a picture and refuses what cannot be decoded
// within the limits.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	if size <= 0 {
		return nil, &fault.Fault{Fact: "is an empty file", Next: "Write an image to it first."}
	}
	s := &source{r: r, size: size, left: maxHeader}
	start, err := s.at(0, min(size, startBytes))
	if err != nil {
		return nil, s.failed(err)
	}
	for _, f := range formats {
		if !f.starts(start) {
			continue
		}
		if size > maxFile {
			return nil, tooManyBytes(f, size)
		}
		h := &header{format: f, turn: upright, lossless: f.lossless}
		if err := f.header(s, h); err != nil {
			return nil, s.failed(explain(f, err, false))
		}
		return h, h.judge()
	}
	return nil, unknown()
}

// judge refuses a picture by its size. Readers of headers that do more than
// read call it as soon as they know the width and height.
func (h *header) judge() error {
	switch {
	case h.width <= 0 || h.height <= 0:
		return explain(h.format, errNoPixels, false)
	case h.width > maxPixels || h.height > maxPixels || h.width*h.height > maxPixels || h.memory > maxMemory:
		return tooManyPixels(h)
	}
	return nil
}

// source is a file of which only a little is read.
type source struct {
	r    io.ReaderAt
	size int64
	left int64 // bytes that may still be read
	err  error // of reading, if that failed
}

// at returns n bytes from an offset; errEnds says that the file ends before.
func (s *source) at(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > s.size-n {
		return nil, errEnds
	}
	b := make([]byte, min(n, s.left+1)) // one more is refused
	if _, err := s.ReadAt(b, off); err != nil {
		return nil, err
	}
	return b, nil
}

// ReadAt is for decoders that read headers themselves.
func (s *source) ReadAt(b []byte, off int64) (int, error) {
	if int64(len(b)) > s.left {
		return 0, errBad // no header is that long
	}
	s.left -= int64(len(b))
	n, err := s.r.ReadAt(b, off)
	if n == len(b) {
		return n, nil
	}
	if err == nil || err == io.EOF {
		return n, io.EOF // the file shrank since its size was taken
	}
	s.err = err
	return n, err
}

// failed returns an error of reading in place of what came of it.
func (s *source) failed(err error) error {
	if s.err != nil {
		return fmt.Errorf("reading the header of an image: %w", s.err)
	}
	return err
}
