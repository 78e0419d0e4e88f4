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

// qualities are the steps of JPEG before a picture is made smaller. 85 cannot
// be told from the original and takes half the bytes of 95; 70 takes two thirds
// of that with faint marks at sharp edges; at 50 small text is still legible.
// Below, the marks eat small text, and a smaller picture says more.
var qualities = []int{85, 70, 50}

const (
	// shrinkMost and shrinkLeast bound one step of making a picture smaller:
	// the first because size and bytes do not go together over long distances,
	// the second so that the steps are few.
	shrinkMost, shrinkLeast = 0.5, 0.9
	// shrinkAim is what of MaxBytes a step aims at, since a smaller picture
	// takes more bytes a pixel.
	shrinkAim = 0.9
)

// render makes a picture of a decoded one, which has pixels.
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

// prepared returns a picture scaled and upright, and of few bytes a pixel if
// the source is: what has a palette or no colours is smaller as PNG that way.
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

// onWhite returns a picture without transparency, which JPEG does not have:
// most of what is drawn on none is meant for a white page.
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

// encodeJPEG returns nil and how many bytes it takes if that is more than
// MaxBytes.
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

// budget keeps what fits into MaxBytes and counts the rest, or stops at it.
type budget struct {
	kept  bytes.Buffer
	bytes int
	stop  bool
}

func (b *budget) Write(p []byte) (int, error) {
	b.bytes += len(p)
	switch {
	case b.bytes <= MaxBytes:
		b.kept.Write(p)
	case b.stop:
		return 0, errOver
	}
	return len(p), nil
}

func (b *budget) picture(mime string, img image.Image) *Picture {
	size := img.Bounds()
	return &Picture{MIMEType: mime, Data: b.kept.Bytes(), Width: size.Dx(), Height: size.Dy()}
}
