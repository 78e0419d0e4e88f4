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

	"mcp-toolset/internal/text/fault"
)

// format is a picture format.
type format struct {
	name, mime string
	accepted   bool // whether models accept the format
	lossless   bool // so that a picture is most likely text or line art

	starts func(start []byte) bool          // reports whether a file with this start has the format
	header func(s *source, h *header) error // fills in all fields except the format
	// walk reads the whole file without decoding it and counts its frames. It is nil for
	// formats with one frame.
	walk   func(data []byte) (frames int, err error)
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// startBytes is the number of bytes that identify a format.
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

// header holds the facts in the header of a picture.
type header struct {
	format        *format
	width, height int64 // as stored
	memory        int64 // estimated memory for decoding, in bytes
	turn          int   // EXIF orientation, 1 to 8
	lossless      bool
}

// readHeader reads the header of a picture. It rejects a picture that cannot be decoded
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

// judge rejects a picture by its size. Header readers with work beyond reading call it as
// soon as they know the width and height.
func (h *header) judge() error {
	switch {
	case h.width <= 0 || h.height <= 0:
		return explain(h.format, errNoPixels, false)
	case h.width > maxPixels || h.height > maxPixels || h.width*h.height > maxPixels || h.memory > maxMemory:
		return tooManyPixels(h)
	}
	return nil
}

// source is a file of which only a limited number of bytes is read.
type source struct {
	r    io.ReaderAt
	size int64
	left int64 // bytes that may still be read
	err  error // the error of a failed read
}

// at returns n bytes from an offset, or errEnds if the file ends before.
func (s *source) at(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > s.size-n {
		return nil, errEnds
	}
	b := make([]byte, min(n, s.left+1)) // one byte too many is refused
	if _, err := s.ReadAt(b, off); err != nil {
		return nil, err
	}
	return b, nil
}

// ReadAt serves decoders that read headers themselves.
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
		return n, io.EOF // the file shrank after its size was read
	}
	s.err = err
	return n, err
}

// failed returns the read error, if there was one, instead of the error that followed
// from it.
func (s *source) failed(err error) error {
	if s.err != nil {
		return fmt.Errorf("reading the header of an image: %w", s.err)
	}
	return err
}
