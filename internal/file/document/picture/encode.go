package picture

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
)

// qualities lists the JPEG qualities to try before a picture is made smaller. 85 looks
// like the original and takes half the bytes of 95. 70 takes two thirds of that, with
// faint marks at sharp edges. At 50 small text is still legible; below, the marks destroy
// it, so that a smaller picture shows more.
var qualities = []int{85, 70, 50}

const (
	// shrinkMost and shrinkLeast limit one step of making a picture smaller. The first is
	// needed because bytes are not proportional to size over large factors, the second to
	// make the steps few.
	shrinkMost, shrinkLeast = 0.5, 0.9
	// shrinkAim is the part of MaxBytes that a step aims at, since a smaller picture
	// takes more bytes per pixel.
	shrinkAim = 0.9
)

// render scales, turns and encodes a decoded picture, which must not be empty. sharp
// prefers PNG.
func render(src image.Image, turn int, sharp bool) (*Picture, error) {
	w, h := within(src.Bounds().Dx(), src.Bounds().Dy(), MaxSide)
	img := prepared(src, w, h, turn)
	if sharp || !opaque(img) {
		p, err := encodePNG(img)
		if p != nil || err != nil {
			return p, err
		}
	}
	for { // ends, because one pixel takes less than a kilobyte
		img = onWhite(img)
		size := 0
		for _, quality := range qualities {
			p, n, err := encodeJPEG(img, quality)
			if p != nil || err != nil {
				return p, err
			}
			size = n
		}
		b := img.Bounds()
		factor := math.Sqrt(shrinkAim * MaxBytes / float64(size))
		side := float64(max(b.Dx(), b.Dy())) * min(max(factor, shrinkMost), shrinkLeast)
		w, h = within(b.Dx(), b.Dy(), int(side))
		img = prepared(img, w, h, upright)
	}
}

// prepared returns a picture scaled and upright. It preserves a palette or gray values
// where it can, because such pictures are smaller as PNG.
func prepared(src image.Image, w, h, turn int) image.Image {
	b := src.Bounds()
	gray := false
	switch src.(type) {
	case *image.Paletted:
		if turn == upright && w == b.Dx() && h == b.Dy() {
			return src
		}
	case *image.Gray, *image.Gray16:
		gray = true
	}
	m := turned(scaled(src, w, h), turn)
	if !gray {
		return m
	}
	g := image.NewGray(m.Rect)
	for i := range g.Pix {
		g.Pix[i] = m.Pix[4*i]
	}
	return g
}

func opaque(img image.Image) bool {
	o, ok := img.(interface{ Opaque() bool })
	return ok && o.Opaque()
}

// onWhite returns a picture without transparency, which JPEG lacks. Most transparent
// drawings are meant for a white page.
func onWhite(img image.Image) image.Image {
	if opaque(img) {
		return img
	}
	m := image.NewRGBA(img.Bounds())
	draw.Draw(m, m.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(m, m.Rect, img, m.Rect.Min, draw.Over)
	return m
}

// encodePNG returns nil if the picture takes more than MaxBytes.
func encodePNG(img image.Image) (*Picture, error) {
	out := budget{stop: true}
	if err := png.Encode(&out, img); errors.Is(err, errOver) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return out.picture("image/png", img), nil
}

// encodeJPEG returns the picture and its size in bytes. The picture is nil if it takes
// more than MaxBytes.
func encodeJPEG(img image.Image, quality int) (*Picture, int, error) {
	var out budget
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, 0, err
	}
	if out.bytes > MaxBytes {
		return nil, out.bytes, nil
	}
	return out.picture("image/jpeg", img), out.bytes, nil
}

var errOver = errors.New("over the budget")

// budget stores up to MaxBytes. It counts further bytes, or fails if stop is true.
type budget struct {
	buf   bytes.Buffer
	bytes int
	stop  bool
}

func (b *budget) Write(p []byte) (int, error) {
	b.bytes += len(p)
	switch {
	case b.bytes <= MaxBytes:
		b.buf.Write(p)
	case b.stop:
		return 0, errOver
	}
	return len(p), nil
}

func (b *budget) picture(mime string, img image.Image) *Picture {
	size := img.Bounds()
	return &Picture{MIMEType: mime, Data: b.buf.Bytes(), Width: size.Dx(), Height: size.Dy()}
}
