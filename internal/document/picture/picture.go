// Package picture makes pictures fit for a model: small enough to send, and
// known to be whole.
//
// Inspect judges a picture by its header alone, before anything is decoded;
// Fit decodes, scales and encodes it. Decoding takes memory by the size a
// header claims, so Fit is for a process that may end.
package picture

import (
	"bytes"
	"image"
	"io"

	"mcp-toolset/internal/fault"
)

// Limits of what is shown.
const (
	// MaxSide is the longest side in pixels: what models look at; larger
	// pictures are scaled down by them anyway.
	MaxSide = 2000
	// MaxBytes bounds the encoded picture, before base64.
	MaxBytes = 500_000
)

// Limits of what is decoded.
const (
	// maxPixels is more than cameras and screenshots have, save for panoramas.
	maxPixels = 64_000_000
	// maxMemory leaves room for scaling and encoding in a process of 400 MB.
	maxMemory = 256 << 20
	// maxFile is what a picture of maxPixels may take without compression, or
	// nearly; the file is held in memory as well.
	maxFile = 100 << 20
	// maxHeader is what Inspect reads at most. Headers are a few hundred bytes;
	// a list of all 65,535 tags of a TIFF image is 768 KiB and read twice.
	maxHeader = 2 << 20
)

// Info is what a header says of a picture.
type Info struct {
	MIMEType      string
	Width, Height int   // in pixels as stored, so before turning it upright
	Memory        int64 // bytes that decoding takes, estimated
}

// Picture is a picture as it is shown.
type Picture struct {
	MIMEType      string // of Data
	Data          []byte // encoded; what Fit was given, if that was fit already
	Width, Height int    // of what is shown

	OriginalMIMEType              string // "" if it was not encoded
	OriginalWidth, OriginalHeight int    // as a viewer shows it, so after turning it upright
	Frames                        int    // of an animation or pages of a TIFF image of which only the first is shown; else 0
}

// Inspect reads no more than the header of a picture. What is damaged, of an
// unknown kind or too large to decode is a *fault.Fault whose fact goes on
// after the name of the file; an error in reading is returned wrapped.
func Inspect(r io.ReaderAt, size int64) (Info, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return Info{}, err
	}
	return Info{MIMEType: h.format.mime, Width: int(h.width), Height: int(h.height), Memory: h.memory}, nil
}

// Fit makes a picture of an encoded one, which is passed on as it is when it
// is whole, upright, within the limits and of a kind that models take: a model
// does not turn what it is shown. Its errors are those of Inspect.
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
	if !h.format.taken || h.turn != upright || max(w, ht) > MaxSide || len(data) > MaxBytes {
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

// FitImage makes a picture of a decoded one; sharp says that it is text or
// line art rather than a photograph.
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
