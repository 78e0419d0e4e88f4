// Package picture prepares pictures for a model: they are small enough to send, and known
// to be whole.
//
// Inspect checks a picture by its header alone, before decoding. Fit decodes, scales and
// encodes it. Decoding takes memory according to the size that the header claims, so call
// Fit in a process that may be killed.
package picture

import (
	"bytes"
	"image"
	"io"

	"mcp-toolset/internal/text/fault"
)

// Limits of the result.
const (
	// MaxSide is the limit of the longer side in pixels. Models scale larger pictures
	// down themselves.
	MaxSide = 2000
	// MaxBytes is the limit of the encoded picture in bytes, before base64.
	MaxBytes = 500_000
)

// Limits of decoding.
const (
	// maxPixels exceeds the pictures of cameras and screenshots, except panoramas.
	maxPixels = 64_000_000
	// maxMemory leaves room for scaling and encoding in a process of 400 MB.
	maxMemory = 256 << 20
	// maxFile is about the size of an uncompressed picture of maxPixels, in bytes. The
	// file is held in memory as well.
	maxFile = 100 << 20
	// maxHeader is the limit of bytes that Inspect reads. Headers take a few hundred
	// bytes. A list of all 65,535 tags of a TIFF image takes 768 KiB and is read twice.
	maxHeader = 2 << 20
)

// Info holds the facts in the header of a picture.
type Info struct {
	MIMEType      string
	Width, Height int   // in pixels as stored, before turning the picture upright
	Memory        int64 // estimated memory for decoding, in bytes
}

// Picture is a picture for a model.
type Picture struct {
	MIMEType      string // of Data
	Data          []byte // encoded; the argument of Fit if that needed no change
	Width, Height int    // of Data

	OriginalMIMEType              string // "" if the original was not encoded
	OriginalWidth, OriginalHeight int    // as a viewer shows it, after turning it upright
	Frames                        int    // number of frames or TIFF pages if only the first is shown; otherwise 0
}

// Inspect reads only the header of a picture. If the picture is damaged, of an unknown
// format or too large to decode, the error is a *fault.Fault whose fact continues the
// name of the file. A read error is returned wrapped.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return Info{}, err
	}
	return Info{MIMEType: h.format.mime, Width: int(h.width), Height: int(h.height), Memory: h.memory}, nil
}

// Fit prepares an encoded picture. It returns the data unchanged if the picture is whole,
// upright, within the limits and in a format that models accept. Models ignore the
// orientation, so Fit turns pictures upright. Its errors are those of Inspect.
func Fit(data []byte) (*Picture, error) {
	h, err := readHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	frames := 1
	if h.format.walk != nil {
		if frames, err = h.format.walk(data); err != nil {
			return nil, explain(h.format, err, false)
		}
	}
	img, err := decode(h, data)
	if err != nil {
		return nil, err
	}
	w, ht := int(h.width), int(h.height)
	if h.turn >= 5 {
		w, ht = ht, w
	}
	p := &Picture{MIMEType: h.format.mime, Data: data, Width: w, Height: ht}
	if !h.format.accepted || h.turn != upright || max(w, ht) > MaxSide || len(data) > MaxBytes {
		if p, err = render(img, h.turn, h.lossless); err != nil {
			return nil, err
		}
		if frames > 1 {
			p.Frames = frames
		}
	}
	p.OriginalMIMEType, p.OriginalWidth, p.OriginalHeight = h.format.mime, w, ht
	return p, nil
}

// FitImage prepares a decoded picture. sharp reports whether it is text or line art
// rather than a photograph.
func FitImage(img image.Image, sharp bool) (*Picture, error) {
	b := img.Bounds()
	if b.Empty() {
		return nil, &fault.Fault{Fact: "is a picture without pixels", Next: nextUndamaged}
	}
	p, err := render(img, upright, sharp)
	if err != nil {
		return nil, err
	}
	p.OriginalWidth, p.OriginalHeight = b.Dx(), b.Dy()
	return p, nil
}
