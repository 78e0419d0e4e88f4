package picture

import (
	"bytes"
	"image"
	"io"
)

// decode decodes a picture, or the first frame of an animation.
func decode(h *header, data []byte) (img image.Image, err error) {
	t := &tail{r: bytes.NewReader(data)}
	defer func() {
		// Decoders have bugs. A panic in one only means that it could not interpret the
		// data.
		if recover() != nil {
			img, err = nil, explain(h.format, errBad, false)
		}
	}()
	// The limits were checked for the size that the header reader found, so the decoder
	// must find the same size.
	cfg, err := h.format.config(t)
	if err != nil {
		return nil, explain(h.format, err, t.ended)
	}
	if int64(cfg.Width) != h.width || int64(cfg.Height) != h.height {
		return nil, explain(h.format, errBad, false)
	}
	t = &tail{r: bytes.NewReader(data)}
	if img, err = h.format.decode(t); err != nil {
		return nil, explain(h.format, err, t.ended)
	}
	screen := image.Rect(0, 0, cfg.Width, cfg.Height)
	if img.Bounds() == screen {
		return img, nil
	}
	if _, ok := img.(*image.Paletted); !ok || !img.Bounds().In(screen) {
		return nil, explain(h.format, errBad, false)
	}
	return onScreen(img, screen), nil
}

// tail reads a file in memory and records whether a decoder asked for bytes after its
// end. Decoders read no more than they need, and each has errors of its own for that
// case.
type tail struct {
	r     *bytes.Reader
	ended bool
}

func (t *tail) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	return n, t.note(err)
}

func (t *tail) ReadByte() (byte, error) {
	b, err := t.r.ReadByte()
	return b, t.note(err)
}

// ReadAt lets the TIFF decoder read in place.
func (t *tail) ReadAt(b []byte, off int64) (int, error) {
	n, err := t.r.ReadAt(b, off)
	return n, t.note(err)
}

func (t *tail) note(err error) error {
	if err == io.EOF {
		t.ended = true
	}
	return err
}
