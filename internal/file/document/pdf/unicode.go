package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strconv"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// patch replaces bytes of a file.
type patch struct {
	at   int64
	data []byte
}

// patched is a file with patches.
type patched struct {
	io.ReaderAt
	patches []patch
}

func (f patched) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	for _, c := range f.patches {
		if from := c.at - off; from < int64(n) && from+int64(len(c.data)) > 0 {
			copy(p[max(from, 0):n], c.data[max(-from, 0):])
		}
	}
	return n, err
}

// Limits of the maps that mendMaps looks at, in bytes. A map of all codes of two bytes takes
// 1 MB.
const (
	maxMap  = 2 << 20
	maxMaps = 8 << 20
)

// mendMaps returns patches for the maps from codes to characters (ToUnicode) of which
// pdfium would drop a part, so that it showed other text. A map that does not fit into the
// place of the old one, or is encrypted, stays as it is.
func mendMaps(doc *model.Context) (patches []patch) {
	if doc.E != nil {
		return nil
	}
	seen, left := map[types.Object]bool{}, maxMaps
	for number := range doc.Table {
		font, err := doc.DereferenceDict(*types.NewIndirectRef(number, 0))
		if err != nil {
			continue
		}
		ref, ok := font["ToUnicode"].(types.IndirectRef)
		if !ok || seen[ref] || left <= 0 {
			continue
		}
		seen[ref] = true
		s, _, err := doc.DereferenceStreamDict(ref)
		if err != nil || s == nil {
			continue
		}
		text, packed := unpack(s)
		left -= len(text)
		mended, changed := mendMap(text)
		if !changed {
			continue
		}
		if packed {
			var b bytes.Buffer
			z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression) // the level is valid
			_, _ = z.Write(mended)                                // a buffer takes everything
			_ = z.Close()
			mended = b.Bytes()
		}
		if n := len(s.Raw) - len(mended); n >= 0 {
			patches = append(patches, patch{s.StreamOffset, append(mended, bytes.Repeat([]byte{'\n'}, n)...)})
		}
	}
	return patches
}

// unpack returns the text of a map and whether it is compressed, or nil if it is too large or
// in another form.
func unpack(s *types.StreamDict) (text []byte, packed bool) {
	switch f := s.FilterPipeline; {
	case len(f) == 0 && len(s.Raw) <= maxMap:
		return s.Raw, false
	case len(f) == 1 && f[0].Name == "FlateDecode" && len(f[0].DecodeParms) == 0:
		z, err := zlib.NewReader(bytes.NewReader(s.Raw))
		if err != nil {
			return nil, false
		}
		text, err = io.ReadAll(io.LimitReader(z, maxMap+1))
		if err != nil || len(text) > maxMap {
			return nil, false
		}
		return text, true
	}
	return nil, false
}

var (
	// mapToken matches a token of a map: a string of hexadecimal digits, a bracket, or a
	// word.
	mapToken = pattern(`<[0-9A-Fa-f\s]*>|[\[\]]|[^\s<>\[\]]+`)
	// mapBase matches the name of a map that pdfium knows, on which another is based.
	mapBase = pattern(`/Adobe-(?:Korea1|Japan1|CNS1|GB1)-UCS2`)
)

// maxCode is the largest code of a map that pdfium accepts.
const maxCode = 0xFFFF

// mendMap returns a map with the entries of the given one that pdfium reads, and reports
// whether it would drop some otherwise: it drops a section with a wrong count of entries, or
// with one entry that it does not read.
func mendMap(text []byte) (mended []byte, changed bool) {
	if !bytes.Contains(text, []byte("beginbf")) {
		return nil, false
	}
	var out bytes.Buffer
	for _, base := range mapBase().FindAll(text, -1) {
		fmt.Fprintf(&out, "%s ", base)
	}
	tokens := mapToken().FindAll(text, -1)
	for i := 0; i < len(tokens); i++ {
		kind := string(tokens[i])
		if kind != "beginbfchar" && kind != "beginbfrange" {
			continue
		}
		count := -1
		if i > 0 {
			count = atoi(tokens[i-1])
		}
		s := section{}
		for i++; i < len(tokens) && !bytes.HasPrefix(tokens[i], []byte("endbf")); {
			if kind == "beginbfchar" {
				i += s.char(tokens[i:])
			} else {
				i += s.span(tokens[i:])
			}
		}
		if s.spans.Len()+out.Len() > maxMap {
			return nil, false // it is made to take much memory
		}
		changed = changed || s.wrong || s.entries != count
		s.write(&out)
	}
	return out.Bytes(), changed
}

func atoi(token []byte) int {
	n, err := strconv.Atoi(string(token))
	if err != nil {
		return -1
	}
	return n
}

// section is a section of a map.
type section struct {
	chars, spans bytes.Buffer
	nChars       int
	nSpans       int
	entries      int  // as the file has them
	wrong        bool // an entry is one that pdfium does not read
}

func (s *section) write(out *bytes.Buffer) {
	if s.nChars > 0 {
		fmt.Fprintf(out, "%d beginbfchar%sendbfchar ", s.nChars, s.chars.Bytes())
	}
	if s.nSpans > 0 {
		fmt.Fprintf(out, "%d beginbfrange%sendbfrange ", s.nSpans, s.spans.Bytes())
	}
}

// char reads the entry of a character and returns the number of tokens read.
func (s *section) char(tokens [][]byte) int {
	if !codeLike(tokens[0]) || len(tokens) < 2 || bytes.HasPrefix(tokens[1], []byte("endbf")) {
		s.wrong = true
		return 1
	}
	s.entries++
	s.addChar(codeOf(tokens[0]), tokens[1])
	return 2
}

// addChar adds the entry of a character.
func (s *section) addChar(code int, value []byte) {
	units, whole := unitsOf(value)
	s.wrong = s.wrong || code > maxCode || !whole
	if code > maxCode || len(units) == 0 {
		return
	}
	s.nChars++
	fmt.Fprintf(&s.chars, "<%04X><%s>", code, units)
}

// span reads the entry of consecutive codes and returns the number of tokens read.
func (s *section) span(tokens [][]byte) int {
	if len(tokens) < 3 || !codeLike(tokens[0]) || !codeLike(tokens[1]) {
		s.wrong = true
		return 1
	}
	s.entries++
	low, high := codeOf(tokens[0]), codeOf(tokens[1])
	if sameRow := low&^0xFF | high&0xFF; sameRow >= low {
		high = sameRow // codes of a range differ in the last byte alone; some programs write <00FF> <01FF> for one code
	}
	if high>>8 != low>>8 || high < low || high > maxCode {
		s.wrong = true
	}
	if string(tokens[2]) == "[" {
		n := 3
		for ; n < len(tokens) && codeLike(tokens[n]); n++ {
			s.addChar(low+n-3, tokens[n])
		}
		s.wrong = s.wrong || n-3 != high-low+1
		if n < len(tokens) && string(tokens[n]) == "]" {
			n++
		}
		return n
	}
	units, whole := unitsOf(tokens[2])
	s.wrong = s.wrong || !whole
	if len(units) == 0 {
		return 3
	}
	last, _ := strconv.ParseUint(string(units[len(units)-4:]), 16, 16)
	for from := low; from <= min(high, maxCode) && s.spans.Len() < maxMap; from = from>>8<<8 + 0x100 {
		s.nSpans++
		fmt.Fprintf(&s.spans, "<%04X><%04X><%s%04X>", from, min(high, maxCode, from|0xFF), units[:len(units)-4], uint16(int(last)+from-low))
	}
	return 3
}

func codeLike(token []byte) bool { return token[0] == '<' }

// codeOf returns the code of a token, or one above maxCode if there is none.
func codeOf(token []byte) int {
	n, err := strconv.ParseUint(string(hexDigits(token)), 16, 32)
	if err != nil {
		return maxCode + 1
	}
	return int(n)
}

// unitsOf returns the value of an entry as groups of four digits, and reports whether pdfium
// reads the value as it is.
func unitsOf(token []byte) (units []byte, whole bool) {
	if !codeLike(token) {
		return nil, true // a name, which pdfium ignores
	}
	digits := hexDigits(token)
	if len(digits) > 0 && len(digits) < 4 {
		return append(bytes.Repeat([]byte{'0'}, 4-len(digits)), digits...), false
	}
	return digits[:len(digits)/4*4], len(digits) == len(token)-2
}

// hexDigits returns the digits of a token.
func hexDigits(token []byte) []byte {
	return bytes.Join(bytes.Fields(token[1:len(token)-1]), nil)
}
