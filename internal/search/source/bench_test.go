package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/unicode"
)

// sources returns the files of the Go distribution's sources, or of SOURCE_TREE.
func sources(b *testing.B) (names []string) {
	root := os.Getenv("SOURCE_TREE")
	if root == "" {
		root = filepath.Join(build.Default.GOROOT, "src")
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) == 0 {
		b.Skip("no tree to read: ", root)
	}
	return names
}

// BenchmarkTree opens, reads and closes every file of a tree.
func BenchmarkTree(b *testing.B) {
	names := sources(b)
	run := func(name string, read func(string) int64) {
		b.Run(name, func(b *testing.B) {
			var bytes int64
			b.ReportAllocs()
			for b.Loop() {
				bytes = 0
				for _, name := range names {
					bytes += read(name)
				}
			}
			b.SetBytes(bytes)
			b.ReportMetric(float64(len(names)*b.N)/b.Elapsed().Seconds(), "files/s")
		})
	}
	run("os.ReadFile", func(name string) int64 {
		text, _ := os.ReadFile(name)
		return int64(len(text))
	})
	r := Get()
	defer r.Release()
	for _, mode := range []Mode{Search, Skip} {
		r.Mode = mode
		label := map[Mode]string{Search: "Reader/search", Skip: "Reader/skip"}[mode]
		run(label, func(name string) int64 {
			f, size, err := openFile(name)
			if err != nil {
				return 0
			}
			defer f.Close()
			result, _ := r.Read(context.Background(), f, size, func(Chunk) bool { return true })
			return result.Bytes
		})
	}
}

// BenchmarkHuge reads a file of 1 GB that is in the page cache.
func BenchmarkHuge(b *testing.B) {
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	piece := bytes.Repeat([]byte("func (s *scan) give(n int, last bool) (more bool)\n"), 20_000)
	for range 1000 {
		if _, err := f.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
	size := int64(1000 * len(piece))
	b.Run("read only", func(b *testing.B) {
		b.SetBytes(size)
		buf := make([]byte, chunkBytes)
		for b.Loop() {
			for at := int64(0); at < size; at += int64(len(buf)) {
				f.ReadAt(buf, at)
			}
		}
	})
	for _, kb := range []int{128, 256, 512, 1024} {
		b.Run("Reader", func(b *testing.B) {
			chunkBytes = kb << 10
			defer func() { chunkBytes = 256 << 10 }()
			b.SetBytes(size)
			b.ReportMetric(float64(kb), "KiB")
			var r Reader
			for b.Loop() {
				result, err := r.Read(context.Background(), f, size, func(Chunk) bool { return true })
				if err != nil || result.Bytes != size {
					b.Fatal(result, err)
				}
			}
		})
	}
}

// BenchmarkUTF16 compares the decoder with that of golang.org/x/text.
func BenchmarkUTF16(b *testing.B) {
	for _, text := range []string{"ascii text, as most of it is\n", "Köln, Αθήνα, Київ, 東京 und 𝄞\n"} {
		var raw []byte
		for _, u := range utf16.Encode([]rune(text)) {
			raw = binary.LittleEndian.AppendUint16(raw, u)
		}
		raw = bytes.Repeat(raw, 2000)
		dst := make([]byte, 2*len(raw))
		b.Run("own", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				decodeUTF16(dst, raw, false, true)
			}
		})
		b.Run("x-text", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Transform(dst, raw, true)
			}
		})
	}
}
