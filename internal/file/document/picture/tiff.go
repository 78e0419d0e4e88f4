package picture

import (
	"bytes"
	"encoding/binary"
	"io"

	"golang.org/x/image/tiff"
)

// Tags of TIFF and EXIF.
const (
	tagWidth         = 256
	tagHeight        = 257
	tagBits          = 258 // bits of a sample, with one value for each sample of a pixel
	tagCompression   = 259
	tagOrientation   = 274
	tagRowsPerStrip  = 278
	tagPlanes        = 284
	tagTileWidth     = 322
	tagTileHeight    = 323
	tagFormat        = 339 // of a sample
	tiffUncompressed = 1
	unsignedSamples  = 1 // the only tagFormat that is decoded
	tiffSeparate     = 2 // planes stored one after another
)

// maxPages is the limit of pages of a TIFF file that are counted.
const maxPages = 10_000

func tiffHeader(s *source, h *header) error {
	dir, order, err := tiffStart(s)
	if err != nil {
		return err
	}
	d, err := readDirectory(s, order, dir)
	if err != nil {
		return err
	}
	// What is not decoded is said first: other checks would call it damaged.
	switch bits := d.value(tagBits, 1); {
	case d.value(tagFormat, unsignedSamples) != unsignedSamples, bits != 1 && bits != 8 && bits != 16:
		return errUnsupported
	}
	h.width, h.height = d.value(tagWidth, 0), d.value(tagHeight, 0)
	if err := h.judge(); err != nil {
		return err
	}
	if d.value(tagPlanes, 1) == tiffSeparate && d.count(tagBits) > 1 {
		return errUnsupported // the decoder would misread it
	}
	pixel := int64(1)
	switch many, deep := d.count(tagBits) > 1, d.value(tagBits, 1) > 8; {
	case many && deep:
		pixel = 8
	case many:
		pixel = 4
	case deep:
		pixel = 2
	}
	blocks, err := d.blocks(s, h)
	if err != nil {
		return err
	}
	h.memory = h.width*h.height*pixel + blocks
	if turn := d.value(tagOrientation, upright); turn >= 1 && turn <= 8 {
		h.turn = int(turn)
	}
	if err := h.judge(); err != nil {
		return err
	}
	_, err = tiff.DecodeConfig(io.NewSectionReader(s, 0, s.size))
	return err
}

// blocks estimates the memory of the strips or tiles, which are held one at a time, and
// of their list. Compressed data may expand to eight bytes a pixel, whatever the header
// claims, in a buffer that grows by doubling.
func (d directory) blocks(s *source, h *header) (int64, error) {
	w, ht := h.width, h.height
	if tw := d.value(tagTileWidth, 0); tw != 0 {
		w, ht = tw, d.value(tagTileHeight, 0)
	} else if rows := d.value(tagRowsPerStrip, 0); rows > 0 && rows < ht {
		ht = rows
	}
	if w <= 0 || ht <= 0 || w > 2*maxPixels || ht > 2*maxPixels {
		return 0, errBad
	}
	across, down := ceil(h.width, w), ceil(h.height, ht)
	// Tiles extend over the edges of the picture. If that makes it twice as large as
	// maxPixels, the file was made to take long.
	if across*w > 2*maxPixels/(down*ht) {
		return 0, errBad
	}
	block := 2 * 8 * w * ht
	if c := d.value(tagCompression, tiffUncompressed); c <= tiffUncompressed {
		block = min(block, 2*s.size)
	}
	return block + across*down*20, nil // two words of eight bytes, and one as in the file
}

// tiffWalk counts the pages. Their list may be a loop.
func tiffWalk(data []byte) (int, error) {
	s := inMemory(data)
	dir, order, err := tiffStart(s)
	if err != nil {
		return 0, err
	}
	seen := map[int64]bool{}
	for dir != 0 && !seen[dir] && len(seen) < maxPages {
		b, err := s.at(dir, 2)
		if err != nil {
			break // the first page is read elsewhere, the others are not shown
		}
		seen[dir] = true
		if b, err = s.at(dir+2+12*int64(order.Uint16(b)), 4); err != nil {
			break
		}
		dir = int64(order.Uint32(b))
	}
	return len(seen), nil
}

// inMemory returns a source whose data may be read once, in addition to the header.
func inMemory(data []byte) *source {
	return &source{r: bytes.NewReader(data), size: int64(len(data)), left: int64(len(data)) + maxHeader}
}

func tiffStart(s *source) (dir int64, order binary.ByteOrder, err error) {
	b, err := s.at(0, 8)
	if err != nil {
		return 0, nil, err
	}
	order = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	return int64(order.Uint32(b[4:])), order, nil
}
