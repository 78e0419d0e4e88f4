package index

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// tree holds the files for the benchmarks: those of the folder in the environment
// variable SEARCH_TREE that have no NUL in their first 64 KiB, in memory.
type tree struct {
	texts  [][]byte
	bytes  int64
	blocks int
}

var loadTree = sync.OnceValue(func() *tree {
	var t tree
	root := os.Getenv("SEARCH_TREE")
	if root == "" {
		return &t
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text[:min(len(text), 64<<10)], 0) >= 0 {
			return nil
		}
		t.texts = append(t.texts, text)
		t.bytes += int64(len(text))
		t.blocks += (len(text) + blockSize - 1) / blockSize
		return nil
	})
	return &t
})

func loadedTree(b *testing.B) *tree {
	t := loadTree()
	if t.bytes == 0 {
		b.Skip("SEARCH_TREE names no tree to measure with")
	}
	return t
}

var signedTree = sync.OnceValue(func() *Store {
	var g Signer
	var s Store
	for i, text := range loadTree().texts {
		s.Put(uint32(i), g.Sign(text))
	}
	return &s
})

func BenchmarkSign(b *testing.B) {
	t := loadedTree(b)
	var g Signer
	size := 0
	least := time.Duration(math.MaxInt64)
	b.ResetTimer()
	for range b.N {
		size = 0
		start := time.Now()
		for _, text := range t.texts {
			size += g.Sign(text).Size()
		}
		least = min(least, time.Since(start))
	}
	b.ReportMetric(float64(least.Nanoseconds())/float64(t.bytes), "min-ns/byte")
	b.ReportMetric(100*float64(size)/float64(t.bytes), "%text")
}

// BenchmarkStore reports the growth of the heap when the tree is signed.
func BenchmarkStore(b *testing.B) {
	t := loadedTree(b)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var g Signer
	for range b.N {
		before := heap()
		var s Store
		for i, text := range t.texts {
			s.Put(uint32(i), g.Sign(text))
		}
		grown := heap() - before
		b.ReportMetric(100*float64(grown)/float64(t.bytes), "heap%text")
		b.ReportMetric(100*float64(s.Bytes())/float64(t.bytes), "store%text")
		apart := make([]Signature, len(t.texts))
		before = heap()
		for i, text := range t.texts {
			apart[i] = slices.Clone(g.Sign(text))
		}
		b.ReportMetric(100*float64(heap()-before)/float64(t.bytes), "slices%text")
		runtime.KeepAlive(apart)
		runtime.KeepAlive(&s)
	}
}

func BenchmarkFilter(b *testing.B) {
	for _, l := range []Literal{{"absent_name", false}, {"absent_name", true}, {"PM_RESUME", false}, {"return", false}} {
		b.Run(fmt.Sprintf("%s,fold=%v", l.Text, l.Fold), func(b *testing.B) {
			t := loadedTree(b)
			s := signedTree()
			q, _ := NewQuery([][]Literal{{l}})
			var dst []Range
			files := 0
			least := time.Duration(math.MaxInt64)
			b.ResetTimer()
			for range b.N {
				start := time.Now()
				dst, files = dst[:0], 0
				f := s.Filter(q)
				for i := range t.texts {
					var some bool
					if dst, some = f.AppendRanges(dst, uint32(i)); some {
						files++
					}
				}
				least = min(least, time.Since(start))
			}
			b.ReportMetric(float64(least.Nanoseconds())/float64(t.blocks), "min-ns/block")
			b.ReportMetric(float64(len(dst)), "ranges")
			b.ReportMetric(float64(files), "files")
		})
	}
}

// BenchmarkSelectivity reports how much is read in vain for 300 identifiers from random
// places of the tree: the bytes of ranges, by block, in which the identifier does not
// begin, in percent of the tree.
func BenchmarkSelectivity(b *testing.B) {
	for _, fold := range []bool{false, true} {
		b.Run(fmt.Sprintf("fold=%v", fold), func(b *testing.B) {
			t := loadedTree(b)
			s := signedTree()
			r := rand.New(rand.NewPCG(7, 8))
			for range b.N {
				var excess []float64
				for range 300 {
					excess = append(excess, 100*float64(t.vain(s, Literal{t.identifier(r), fold}))/float64(t.bytes))
				}
				slices.Sort(excess)
				b.ReportMetric(excess[150], "p50%")
				b.ReportMetric(excess[270], "p90%")
				b.ReportMetric(excess[297], "p99%")
			}
		})
	}
}

func (t *tree) vain(s *Store, l Literal) (n int64) {
	q, ok := NewQuery([][]Literal{{l}})
	if !ok {
		return 0
	}
	find := func(text []byte) bool { return bytes.Contains(text, []byte(l.Text)) }
	if l.Fold { // a good approximation for an ASCII identifier
		lower := bytes.ToLower([]byte(l.Text))
		find = func(text []byte) bool { return bytes.Contains(bytes.ToLower(text), lower) }
	}
	var ranges []Range
	f := s.Filter(q)
	for i, text := range t.texts {
		var some bool
		if ranges, some = f.AppendRanges(ranges[:0], uint32(i)); some && len(ranges) == 0 {
			ranges = append(ranges, Range{End: int64(len(text)), Line: 1})
		}
		for _, r := range ranges {
			for at := r.Start; at < r.End; {
				next := min((at/blockSize+1)*blockSize, r.End)
				if !find(text[at:min(next+int64(len(l.Text))-1, r.End)]) {
					n += next - at
				}
				at = next
			}
		}
	}
	return n
}

// minIdentifier excludes identifiers too short to be searched for often: "int", "the"
// and "for" are a large part of all source text.
const minIdentifier = 5

// identifier cuts an identifier from a random place.
func (t *tree) identifier(r *rand.Rand) string {
	for {
		at := r.Int64N(t.bytes)
		i := 0
		for ; at >= int64(len(t.texts[i])); i++ {
			at -= int64(len(t.texts[i]))
		}
		text := t.texts[i]
		start, end := at, at
		for start > 0 && isWord(text[start-1]) {
			start--
		}
		for end < int64(len(text)) && isWord(text[end]) {
			end++
		}
		if n := end - start; n >= minIdentifier && n <= 60 && text[start] > '9' {
			return string(text[start:end])
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
