package picture

import (
	"encoding/binary"
)

// upright is the EXIF orientation of a picture that needs no turn.
const upright = 1

// directory is a list of tags, in a TIFF file or in EXIF data, which has the same format.
type directory struct {
	src     *source
	order   binary.ByteOrder
	entries map[uint16][]byte
}

func readDirectory(s *source, order binary.ByteOrder, off int64) (directory, error) {
	d := directory{src: s, order: order, entries: map[uint16][]byte{}}
	b, err := s.at(off, 2)
	if err != nil {
		return d, err
	}
	list, err := s.at(off+2, 12*int64(order.Uint16(b)))
	if err != nil {
		return d, err
	}
	for ; len(list) >= 12; list = list[12:] {
		d.entries[order.Uint16(list)] = list[:12]
	}
	return d, nil
}

// count returns the number of values of a tag.
func (d directory) count(tag uint16) int64 {
	if e := d.entries[tag]; e != nil {
		return int64(d.order.Uint32(e[4:]))
	}
	return 0
}

// value returns the first value of a tag, or without if it has none.
func (d directory) value(tag uint16, without int64) int64 {
	e := d.entries[tag]
	n := d.count(tag)
	if n == 0 {
		return without
	}
	size, ok := map[uint16]int64{1: 1, 3: 2, 4: 4}[d.order.Uint16(e[2:])]
	if !ok {
		return without
	}
	v := e[8:]
	if n*size > 4 { // the value is elsewhere
		var err error
		if v, err = d.src.at(int64(d.order.Uint32(v)), size); err != nil {
			return without
		}
	}
	switch size {
	case 1:
		return int64(v[0])
	case 2:
		return int64(d.order.Uint16(v))
	}
	return int64(d.order.Uint32(v))
}

// exifTurn returns the orientation in EXIF data. It ignores invalid data, as viewers do.
func exifTurn(data []byte) int {
	s := inMemory(data)
	dir, order, err := tiffStart(s)
	if err != nil {
		return upright
	}
	d, err := readDirectory(s, order, dir)
	if err != nil {
		return upright
	}
	if turn := d.value(tagOrientation, upright); turn >= 1 && turn <= 8 {
		return int(turn)
	}
	return upright
}
