package picture

import (
	"encoding/binary"
	"io"

	"golang.org/x/image/bmp"
)

// startsBMP also requires a known length of the second header, because many texts begin
// with the same two letters.
func startsBMP(b []byte) bool {
	if len(b) < startBytes || string(b[:2]) != "BM" {
		return false
	}
	switch binary.LittleEndian.Uint32(b[14:]) {
	case 12, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

func bmpHeader(s *source, h *header) error {
	b, err := s.at(0, 30)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[14:]) < 40 {
		return errUnsupported // the header of OS/2
	}
	h.width = int64(int32(binary.LittleEndian.Uint32(b[18:])))
	h.height = int64(int32(binary.LittleEndian.Uint32(b[22:])))
	if h.height < 0 {
		h.height = -h.height // rows are stored from the top
	}
	pixel := int64(4)
	if binary.LittleEndian.Uint16(b[28:]) <= 8 {
		pixel = 1
	}
	h.memory = h.width * h.height * pixel
	if err := h.judge(); err != nil {
		return err
	}
	_, err = bmp.DecodeConfig(io.NewSectionReader(s, 0, s.size))
	return err
}
