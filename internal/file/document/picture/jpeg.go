package picture

import (
	"bytes"
	"encoding/binary"
)

// Markers of JPEG.
const (
	jpegSOF0 = 0xc0 // baseline; 0xc1 is extended
	jpegSOF2 = 0xc2 // progressive
	jpegDHT  = 0xc4
	jpegJPG  = 0xc8
	jpegRST0 = 0xd0
	jpegRST7 = 0xd7
	jpegEOI  = 0xd9
	jpegSOS  = 0xda
	jpegAPP0 = 0xe0
	jpegAPP1 = 0xe1
	jpegAPPe = 0xee
)

// maxScans is the limit of scans, which bounds the time for a progressive picture: each
// scan visits the whole picture. Encoders make about ten; the finest division known to be
// used has less than 30.
const maxScans = 100

// jpegFrame holds the facts that decoding depends on.
type jpegFrame struct {
	frame       []byte // the segment with the size; nil: not found yet
	progressive bool
	jfif, exif  bool // whether these segments were found
	plainRGB    bool // whether an Adobe segment declares that the colours are not YCbCr
}

// jpegHeader reads everything before the pixels. It finds segments as the decoder does
// and skips bytes between them.
func jpegHeader(s *source, h *header) error {
	var f jpegFrame
	for off := int64(2); ; {
		marker, next, err := nextMarker(s, off)
		if err != nil {
			return err
		}
		off = next
		if marker >= jpegRST0 && marker <= jpegRST7 {
			continue
		}
		if marker == jpegSOS || marker == jpegEOI {
			return f.measure(h)
		}
		b, err := s.at(off, 2)
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint16(b))
		if n < 2 {
			return errBad
		}
		if err := f.segment(s, h, marker, off+2, n-2); err != nil {
			return err
		}
		off += n
	}
}

// segment reads one segment, whose body is n bytes at off.
func (f *jpegFrame) segment(s *source, h *header, marker byte, off, n int64) error {
	switch {
	case marker >= jpegSOF0 && marker <= jpegSOF2:
		if f.frame != nil {
			return errBad
		}
		b, err := s.at(off, n)
		f.frame, f.progressive = b, marker == jpegSOF2
		return err
	case marker > jpegSOF2 && marker <= 0xcf && marker != jpegDHT && marker != jpegJPG:
		return errUnsupported // lossless, hierarchical or arithmetically coded
	case marker == jpegAPP0 || marker == jpegAPP1 || marker == jpegAPPe:
		return f.application(s, h, marker, off, n)
	}
	return nil
}

// application reads a segment that programs add. It reads only EXIF data whole, since
// some pictures carry megabytes of other kinds.
func (f *jpegFrame) application(s *source, h *header, marker byte, off, n int64) error {
	b, err := s.at(off, min(n, 12))
	if err != nil {
		return err
	}
	switch {
	case marker == jpegAPP0 && bytes.HasPrefix(b, []byte("JFIF\x00")):
		f.jfif = true
	case marker == jpegAPP1 && bytes.HasPrefix(b, []byte("Exif\x00\x00")) && !f.exif:
		f.exif = true
		if b, err = s.at(off, n); err != nil {
			return err
		}
		h.turn = exifTurn(b[6:])
	case marker == jpegAPPe && bytes.HasPrefix(b, []byte("Adobe")) && len(b) >= 12:
		f.plainRGB = b[11] == 0
	}
	return nil
}

// measure estimates the memory: one byte per sample, with sides rounded up to whole
// blocks; four more if the blocks are held until the last scan; and four bytes per pixel
// if the colours are converted.
func (f *jpegFrame) measure(h *header) error {
	b := f.frame
	if len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return errBad
	}
	h.height, h.width = int64(binary.BigEndian.Uint16(b[1:])), int64(binary.BigEndian.Uint16(b[3:]))
	parts := b[6:]
	if b[0] != 8 || len(parts) != 3 && len(parts) != 9 && len(parts) != 12 {
		return errUnsupported
	}
	if len(parts) == 3 {
		parts[1] = 0x11 // the factors of a single component have no meaning
	}
	across, down := int64(parts[1]>>4), int64(parts[1]&15)
	if across == 0 || down == 0 {
		return errBad
	}
	units := ceil(h.width, 8*across) * ceil(h.height, 8*down)
	samples := int64(0)
	for i := 1; i < len(parts); i += 3 {
		samples += units * 64 * int64(parts[i]>>4) * int64(parts[i]&15)
	}
	h.memory = samples
	if f.progressive {
		h.memory += 4 * samples
	}
	rgb := !f.jfif && len(parts) == 9 && (f.plainRGB || parts[0] == 'R' && parts[3] == 'G' && parts[6] == 'B')
	if rgb || len(parts) == 12 {
		h.memory += 4 * h.width * h.height
	}
	return nil
}

// nextMarker returns the next marker from an offset on, and the offset after it.
func nextMarker(s *source, off int64) (marker byte, next int64, err error) {
	const step = 256 // usually the marker is in the first two bytes
	inMarker := false
	for {
		b, err := s.at(off, max(1, min(step, s.size-off)))
		if err != nil {
			return 0, 0, err
		}
		for i, c := range b {
			if inMarker && c != 0 && c != 0xff {
				return c, off + int64(i) + 1, nil
			}
			inMarker = c == 0xff
		}
		off += int64(len(b))
	}
}

// jpegWalk counts the scans. It rejects a picture with so many that decoding takes too
// long.
func jpegWalk(data []byte) (int, error) {
	scans := 0
	for i := 2; i+4 <= len(data); {
		n := bytes.IndexByte(data[i:len(data)-3], 0xff)
		if n < 0 {
			break
		}
		i += n
		switch marker := data[i+1]; {
		case marker == 0xff:
			i++
			continue
		case marker == 0 || marker >= jpegRST0 && marker <= jpegRST7:
			i += 2
			continue
		case marker == jpegEOI:
			i = len(data)
			continue
		case marker == jpegSOS:
			scans++
		}
		i += 2 + int(binary.BigEndian.Uint16(data[i+2:]))
	}
	if scans > maxScans {
		return 0, tooManyScans(scans)
	}
	return 1, nil
}

// ceil divides and rounds up.
func ceil(n, by int64) int64 { return (n + by - 1) / by }
