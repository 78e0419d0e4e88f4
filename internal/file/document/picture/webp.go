package picture

import (
	"encoding/binary"
)

func startsWebP(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
}

// webpHeader reads the chunks before the pixels. Each must be complete, because the
// decoder allocates memory by the length that a chunk claims.
func webpHeader(s *source, h *header) error {
	extended, alpha := false, false
	off := int64(12)
	for range maxChunks {
		b, err := s.at(off, 8)
		if err != nil {
			return err
		}
		off += 8
		name, n := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		if n > s.size-off {
			return errEnds
		}
		switch name {
		case "VP8X":
			if b, err = s.at(off, 10); err != nil {
				return err
			}
			if b[0]&2 != 0 {
				return errAnimated
			}
			extended = true
			h.width, h.height = 1+little24(b[4:]), 1+little24(b[7:])
		case "ANIM", "ANMF":
			return errAnimated
		case "ALPH":
			alpha = true
		case "VP8 ", "VP8L":
			return webpFrame(s, h, off, name, extended, alpha)
		}
		off += n + n&1
	}
	return errBad
}

// webpFrame reads the header of the pixels. In an extended file the size is known
// already, and webpFrame checks that both are equal.
func webpFrame(s *source, h *header, off int64, name string, extended, alpha bool) error {
	b, err := s.at(off, 10)
	if err != nil {
		return err
	}
	h.lossless = name == "VP8L"
	var w, ht int64
	if h.lossless {
		bits := binary.LittleEndian.Uint32(b[1:])
		w, ht = 1+int64(bits&0x3fff), 1+int64(bits>>14&0x3fff)
		h.memory = 8 * w * ht // four bytes a pixel, twice while a palette is undone
	} else {
		w, ht = int64(binary.LittleEndian.Uint16(b[6:])&0x3fff), int64(binary.LittleEndian.Uint16(b[8:])&0x3fff)
		h.memory = ceil(w, 16) * ceil(ht, 16) * 16 * 16 * 3 / 2
	}
	if alpha {
		h.memory += 9 * w * ht // a lossless picture of its own and the alpha values taken from it
	}
	if !extended {
		h.width, h.height = w, ht
	} else if h.width != w || h.height != ht {
		return errBad
	}
	return nil
}

// webpWalk rejects a file that is shorter than its header claims: other decoders need the
// data after the pixels.
func webpWalk(data []byte) (int, error) {
	if int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) {
		return 0, errEnds
	}
	return 1, nil
}

func little24(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
