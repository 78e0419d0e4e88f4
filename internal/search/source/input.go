package source

import "io"

// input supplies the bytes of a text: as they are in the file, or decoded from UTF-16.
type input struct {
	file  io.ReaderAt
	at    int64 // offset of the next read
	limit int64 // end of the file, or of the requested part

	failed error // error that came together with bytes, for the next read

	decoding  bool
	bigEndian bool
	raw       []byte // buffer of rest, reused for the next file
	rest      []byte // read and not yet decoded
}

// ended reports whether there are no more bytes.
func (in *input) ended() bool { return in.at >= in.limit && len(in.rest) == 0 }

// read reads up to len(p) bytes of text. It returns an error only at the end, which is
// io.EOF, or on a failure. When decoding, p must have room for a rune.
func (in *input) read(p []byte) (int, error) {
	if !in.decoding {
		return in.readRaw(p)
	}
	for {
		n, used := decodeUTF16(p, in.rest, in.bigEndian, in.at >= in.limit)
		in.rest = in.rest[used:]
		if n > 0 || in.ended() {
			return n, nil
		}
		kept := copy(in.raw, in.rest)
		m, err := in.readRaw(in.raw[kept:])
		in.rest = in.raw[:kept+m]
		if err != nil && err != io.EOF {
			return 0, err
		}
	}
}

// readRaw reads bytes of the file, once. It does not read beyond the limit, which moves
// to the actual end of the file. It returns no error together with bytes, except
// io.EOF.
func (in *input) readRaw(p []byte) (int, error) {
	p = p[:min(int64(len(p)), in.limit-in.at)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	if in.failed != nil {
		return 0, in.failed
	}
	n, err := in.file.ReadAt(p, in.at)
	in.at += int64(n)
	switch {
	case err == io.EOF || n == 0 && err == nil:
		in.limit = in.at
		return n, io.EOF
	case n > 0:
		in.failed = err
		return n, nil
	}
	return 0, err
}

// decode makes the input decode UTF-16. head was already read.
func (in *input) decode(head []byte, bigEndian bool) {
	in.decoding, in.bigEndian = true, bigEndian
	if len(in.raw) < max(rawBytes, len(head)) {
		in.raw = make([]byte, max(rawBytes, len(head)))
	}
	in.rest = in.raw[:copy(in.raw, head)]
}
