package source

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
)

func FuzzChunks(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), uint64(1), true)
	f.Add([]byte("\xEF\xBB\xBFone"), uint64(2), false)
	f.Add([]byte("\xFF\xFEo\x00\n\x00\x00\xD8"), uint64(3), true)
	f.Add([]byte("\xFE\xFF\x00o\xD8\x00\xDC\x00\x00"), uint64(4), true)
	f.Add([]byte("\xFF\xFE\x00\x00"), uint64(5), false)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, known bool) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		randomLimits(t, rnd)
		want := plainly(data)
		size := int64(0)
		if known {
			size = int64(len(data))
		}
		chunks, result, err := collect(&Reader{Mode: Report, Gather: Gather(rnd.IntN(3))}, &fake{data: data, short: rnd}, size)
		if err == nil {
			err = verify(chunks, want, 0, 1, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		if nul := int64(bytes.IndexByte(want, 0)); result.Nul != nul || (result.Kind == Binary) != (nul >= 0) {
			t.Fatalf("%+v, want the NUL at %d", result, nul)
		}
	})
}

// plainly returns the text of a file, decoded in the obvious way.
func plainly(data []byte) []byte {
	var order binary.ByteOrder
	switch s := string(data); {
	case strings.HasPrefix(s, "\xEF\xBB\xBF"):
		return data[3:]
	case strings.HasPrefix(s, "\xFF\xFE\x00\x00"):
		return data
	case strings.HasPrefix(s, "\xFF\xFE"):
		order = binary.LittleEndian
	case strings.HasPrefix(s, "\xFE\xFF"):
		order = binary.BigEndian
	default:
		return data
	}
	var units []uint16
	data = data[2:]
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	text := string(utf16.Decode(units))
	if len(data) > 0 {
		text += "\uFFFD"
	}
	return []byte(text)
}
