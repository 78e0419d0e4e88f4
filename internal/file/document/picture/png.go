package picture

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	pngStart = 33 // the signature and the IHDR chunk
	// maxChunks is the limit of chunks or boxes read in a header; pictures have a dozen.
	maxChunks = 1000
)

// pngBytes maps depth and colour type to the bytes of a decoded pixel, without and with a
// tRNS chunk, which makes a colour transparent.
var pngBytes = map[[2]byte][2]int64{
	{1, 0}: {1, 4}, {2, 0}: {1, 4}, {4, 0}: {1, 4}, {8, 0}: {1, 4}, {16, 0}: {2, 8}, // gray
	{8, 2}: {4, 4}, {16, 2}: {8, 8}, // RGB
	{1, 3}: {1, 1}, {2, 3}: {1, 1}, {4, 3}: {1, 1}, {8, 3}: {1, 1}, // palette
	{8, 4}: {4, 4}, {16, 4}: {8, 8}, // gray with alpha
	{8, 6}: {4, 4}, {16, 6}: {8, 8}, // RGB with alpha
}

// pngSamples maps the colour type to the number of samples of a pixel.
var pngSamples = map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

func pngHeader(s *source, h *header) error {
	b, err := s.at(0, pngStart)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(b[8:]) != 13 || string(b[12:16]) != "IHDR" {
		return errBad
	}
	if crc32.ChecksumIEEE(b[12:29]) != binary.BigEndian.Uint32(b[29:]) {
		return errChecksum
	}
	h.width, h.height = int64(binary.BigEndian.Uint32(b[16:])), int64(binary.BigEndian.Uint32(b[20:]))
	pixel, ok := pngBytes[[2]byte{b[24], b[25]}]
	if !ok {
		return errBad
	}
	if err := h.judge(); err != nil {
		return err
	}
	transparent := false
	err = pngChunks(s, func(name string, _ int64) bool {
		transparent = transparent || name == "tRNS"
		return true
	})
	if err != nil {
		return err
	}
	h.memory = h.width * h.height * pixel[0]
	if transparent {
		h.memory = h.width * h.height * pixel[1]
	}
	if b[28] != 0 {
		h.memory += h.memory / 2 // interlaced: the last pass is half a picture of its own
	}
	// The decoder holds two rows, which is much if there is only one.
	h.memory += 2 * (1 + ceil(h.width*pngSamples[b[25]]*int64(b[24]), 8))
	return nil
}

// pngChunks calls each for the chunks between the first one and the pixels, until it
// returns false.
func pngChunks(s *source, each func(name string, body int64) bool) error {
	off := int64(pngStart)
	for range maxChunks {
		b, err := s.at(off, 8)
		if err != nil {
			return err
		}
		name := string(b[4:])
		if name == "IDAT" || !each(name, off+8) {
			return nil
		}
		off += 12 + int64(binary.BigEndian.Uint32(b))
	}
	return errBad
}

// pngWalk returns the number of frames of an animated PNG, which a chunk of its own
// holds.
func pngWalk(data []byte) (int, error) {
	s := inMemory(data)
	frames := 1
	err := pngChunks(s, func(name string, body int64) bool {
		if name != "acTL" {
			return true
		}
		if b, err := s.at(body, 4); err == nil {
			frames = int(binary.BigEndian.Uint32(b))
		}
		return false
	})
	return frames, err
}
