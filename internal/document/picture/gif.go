package picture

import (
	"encoding/binary"
	"image"
	"image/draw"
)

func gifHeader(s *source, h *header) error {
	b, err := s.at(6, 7)
	if err != nil {
		return err
	}
	h.width, h.height = int64(binary.LittleEndian.Uint16(b)), int64(binary.LittleEndian.Uint16(b[2:]))
	// A byte a pixel, another to undo interlacing, and four for a screen that
	// the first frame does not cover.
	h.memory = 6 * h.width * h.height
	return nil
}

// onScreen puts a frame on the screen it covers in part.
func onScreen(frame image.Image, screen image.Rectangle) image.Image {
	m := image.NewRGBA(screen)
	draw.Draw(m, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return m
}

// gifWalk counts the frames, of which there may be many thousands, by the
// lengths of their blocks. A file whose blocks do not add up is not passed on.
func gifWalk(data []byte) (frames int, err error) {
	b := blocks{data: data, at: 10}
	b.at += 3 + colours(b.byte(0))
	for {
		kind := b.byte(0)
		b.at++
		if b.at > len(data) {
			return 0, errEnds
		}
		switch kind {
		case 0x21: // an extension: its label and blocks
			b.at++
			b.skip()
		case 0x2c: // a frame: its place, colours, code size and blocks
			b.at += 9 + colours(b.byte(8)) + 1
			b.skip()
			frames++
		case 0x3b:
			return frames, nil
		default:
			return 0, errBad
		}
	}
}

// blocks is a place in a GIF file, which may be behind its end.
type blocks struct {
	data []byte
	at   int
}

// byte returns the byte at a distance, 0 behind the end.
func (b *blocks) byte(ahead int) byte {
	if b.at+ahead >= len(b.data) {
		return 0
	}
	return b.data[b.at+ahead]
}

// skip goes behind a run of blocks that ends with an empty one.
func (b *blocks) skip() {
	for {
		n := int(b.byte(0))
		b.at += n + 1
		if n == 0 {
			return
		}
	}
}

// colours is the length of the colour table that a field of flags announces.
func colours(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (1 + flags&7)
}
