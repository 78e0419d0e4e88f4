package dfa

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// corpusFiles returns the files of Go's src, in memory.
var corpusFiles = sync.OnceValue(func() (files [][]byte) {
	goroot, _ := exec.Command("go", "env", "GOROOT").Output()
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			files = append(files, text)
		}
		return nil
	})
	return files
})

type filePattern struct {
	name, pattern string
	must          []string
	literal, fold bool
}

var filePatterns = []filePattern{
	{name: "rare", pattern: "ErrUnexpectedEOF", literal: true},
	{name: "return", pattern: "return", literal: true},
	{name: "fold", pattern: "errunexpectedeof", literal: true, fold: true},
	{name: "foldshort", pattern: "mutex", literal: true, fold: true},
	{name: "call", pattern: `\w+_\w+\s*\(`, must: []string{"_"}},
	{name: "callraw", pattern: `\w+_\w+\s*\(`},
	{name: "uuid", pattern: `[0-9a-f]{8}-[0-9a-f]{4}`, must: []string{"-"}},
	{name: "words", pattern: `\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`},
	{name: "suffix", pattern: `[A-Z]+_RESUME`, must: []string{"_RESUME"}},
	{name: "init", pattern: `\b\w+_init\b`, must: []string{"_init"}},
	{name: "four", pattern: `ErrUnexpectedEOF|kmalloc_array|SIGWINCH|netdev_alloc`, must: []string{"ErrUnexpectedEOF", "kmalloc_array", "SIGWINCH", "netdev_alloc"}},
}

func fileDFA(b testing.TB, p filePattern) *DFA {
	if p.literal {
		d, _ := Literal(p.pattern, p.fold)
		return d
	}
	const space = `[\t-\r\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`
	return benchDFA(b, strings.ReplaceAll(p.pattern, `\s`, space), p.must)
}

// BenchmarkFiles works as a search does, with one call for each file.
func BenchmarkFiles(b *testing.B) {
	files := corpusFiles()
	size := 0
	for _, f := range files {
		size += len(f)
	}
	if size == 0 {
		b.Skip("no source code to read")
	}
	for _, p := range filePatterns {
		d := fileDFA(b, p)
		n := 0
		yield := func(int, int) bool { n++; return true }
		for _, mode := range []struct {
			name string
			do   func(buf []byte)
		}{
			{"lines", func(buf []byte) { d.Lines(buf, yield) }},
			{"any", func(buf []byte) { d.Any(buf) }},
			{"count", func(buf []byte) { d.Count(buf) }},
		} {
			b.Run(p.name+"/"+mode.name, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for _, f := range files {
						mode.do(f)
					}
				}
			})
		}
	}
}

// BenchmarkQuery is a whole query: the expression is compiled, the tables are built,
// and all files are searched.
func BenchmarkQuery(b *testing.B) {
	files := corpusFiles()
	for _, p := range filePatterns {
		yield := func(int, int) bool { return true }
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				d := fileDFA(b, p)
				for _, f := range files {
					d.Lines(f, yield)
				}
			}
		})
		b.Run(p.name+"/compile", func(b *testing.B) {
			for b.Loop() {
				fileDFA(b, p)
			}
		})
	}
}
