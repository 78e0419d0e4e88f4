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
	// One byte per pixel, another to undo interlacing, and four for a screen that the
	// first frame does not cover.
	h.memory = 6 * h.width * h.height
	return nil
}

// onScreen draws a frame on the screen, of which it covers a part.
func onScreen(frame image.Image, screen image.Rectangle) image.Image {
	m := image.NewRGBA(screen)
	draw.Draw(m, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return m
}

// gifWalk counts the frames, which may be many thousands, by the lengths of their blocks.
// It returns an error if the blocks are inconsistent.
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
		case 0x2c: // a frame: its position, colours, code size and blocks
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

// blocks is a position in a GIF file, possibly after its end.
type blocks struct {
	data []byte
	at   int
}

// byte returns the byte at a distance from the position, or 0 after the end.
func (b *blocks) byte(ahead int) byte {
	if b.at+ahead >= len(b.data) {
		return 0
	}
	return b.data[b.at+ahead]
}

// skip moves past a run of blocks, which an empty block ends.
func (b *blocks) skip() {
	for {
		n := int(b.byte(0))
		b.at += n + 1
		if n == 0 {
			return
		}
	}
}

// colours returns the length of the colour table that the flags announce.
func colours(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (1 + flags&7)
}
