package source

import "io"

// input is where the bytes of a text come from: as they are in the file, or
// decoded from UTF-16.
type input struct {
	file  io.ReaderAt
	at    int64 // what is read next
	limit int64 // where the file, or the part wanted, ends

	failed error // what came together with bytes, for the next read

	decoding  bool
	bigEndian bool
	raw       []byte // memory for the bytes of rest, kept from file to file
	rest      []byte // read and not yet decoded
}

// ended tells whether nothing more comes.
func (in *input) ended() bool { return in.at >= in.limit && len(in.rest) == 0 }

// read reads up to len(p) bytes of text. It returns no error before the end or
// a failure; at the end it returns io.EOF. When decoding, p must have room for
// a rune.
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

// readRaw reads bytes of the file, once. Nothing is read behind the limit,
// which moves to where the file turns out to end. An error comes without bytes,
// but for io.EOF.
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

// decode makes the input decode UTF-16, of which head has been read already.
func (in *input) decode(head []byte, bigEndian bool) {
	in.decoding, in.bigEndian = true, bigEndian
	if len(in.raw) < max(rawBytes, len(head)) {
		in.raw = make([]byte, max(rawBytes, len(head)))
	}
	in.rest = in.raw[:copy(in.raw, head)]
}
