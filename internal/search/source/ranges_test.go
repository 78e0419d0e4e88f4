package source

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mcp-toolset/internal/search/index"
)

// randomLines picks runs of whole lines that do not touch.
func randomLines(rnd *rand.Rand, text string) (ranges []index.Range) {
	at, line, open := int64(0), int64(1), false
	for s := range strings.Lines(text) {
		end := at + int64(len(s))
		switch wanted := rnd.IntN(2) == 0; {
		case wanted && open:
			ranges[len(ranges)-1].End = end
		case wanted:
			ranges = append(ranges, index.Range{Start: at, End: end, Line: line})
			open = true
		default:
			open = false
		}
		at, line = end, line+1
	}
	return ranges
}

// collectRanges is collect for ranges.
func collectRanges(r *Reader, f *fake, size, mark int64, ranges []index.Range) (chunks []Chunk, result Result, err error) {
	result, err = r.ReadRanges(context.Background(), f, size, mark, ranges, func(c Chunk) bool {
		c.Text = bytes.Clone(c.Text)
		chunks = append(chunks, c)
		return true
	})
	return chunks, result, err
}

func TestRanges(t *testing.T) {
	for seed := range uint64(randomRanges) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		t.Run("", func(t *testing.T) {
			randomLimits(t, rnd)
			text := strings.TrimLeft(randomText(rnd), "\uFEFF")
			data, mark := text, 0
			if rnd.IntN(2) == 0 {
				data, mark = "\uFEFF"+text, 3
			}
			ranges := randomLines(rnd, text)
			f := &fake{data: []byte(data)}
			if rnd.IntN(2) == 0 {
				f.short = rnd
			}
			chunks, result, err := collectRanges(new(Reader), f, int64(len(data)), int64(mark), ranges)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			var sum int64
			for _, p := range ranges {
				var own []Chunk
				for len(chunks) > 0 && chunks[0].Offset < p.End {
					own, chunks = append(own, chunks[0]), chunks[1:]
				}
				if err := verify(own, []byte(text[p.Start:p.End]), p.Start, p.Line, p.End == int64(len(text))); err != nil {
					t.Fatalf("seed %d, %+v: %v", seed, p, err)
				}
				sum += p.End - p.Start
			}
			result.Mark = 0 // the whole text was read, if a range covers it
			if len(chunks) > 0 || result != (Result{Bytes: sum, Nul: -1}) {
				t.Fatalf("seed %d: %+v, and %d chunks that nobody wanted", seed, result, len(chunks))
			}
			if f.read > sum+int64(len(ranges)+mark) {
				t.Fatalf("seed %d: %d bytes were read for %d", seed, f.read, sum)
			}
		})
	}
}

// TestWholeRanges checks that the whole text is passed on if the ranges are not a part.
func TestWholeRanges(t *testing.T) {
	text := strings.Repeat("0123456\n", 100)
	part := index.Range{Start: 80, End: 160, Line: 11}
	for _, tc := range []struct {
		name, data string
		size, mark int64
		ranges     []index.Range
		calls      int
	}{
		{"unsigned", text, 800, 0, []index.Range{{Start: 0, End: math.MaxInt64, Line: 1}}, 1},
		{"one block", text, 800, 0, []index.Range{{Start: 0, End: 800, Line: 1}}, 1},
		{"one block behind a mark", "\uFEFF" + text, 803, 3, []index.Range{{Start: 0, End: 800, Line: 1}}, 1},
		{"size not known", text, 0, 0, []index.Range{part}, 1},
	} {
		f := &fake{data: []byte(tc.data)}
		chunks, _, err := collectRanges(new(Reader), f, tc.size, tc.mark, tc.ranges)
		if err == nil {
			err = verify(chunks, []byte(text), 0, 1, true)
		}
		if err != nil || f.calls != tc.calls {
			t.Errorf("%s: %v; %d reads, want %d", tc.name, err, f.calls, tc.calls)
		}
	}
	if chunks, _, err := collectRanges(new(Reader), nil, 800, 0, nil); err != nil || chunks != nil {
		t.Errorf("no ranges: %v, %v", chunks, err)
	}
}

// TestChanged checks that a file that does not fit the ranges is noticed.
func TestChanged(t *testing.T) {
	text := strings.Repeat("0123456\n", 100)
	for _, tc := range []struct {
		name  string
		data  string
		size  int
		p     index.Range
		fails bool
	}{
		{"as signed", text, 800, index.Range{Start: 80, End: 160, Line: 11}, false},
		{"the end, as signed", text, 800, index.Range{Start: 80, End: 800, Line: 11}, false},
		{"begins inside a line", text, 800, index.Range{Start: 81, End: 160, Line: 11}, true},
		{"ends inside a line", text, 800, index.Range{Start: 80, End: 159, Line: 11}, true},
		{"known to be shorter", text[:150], 150, index.Range{Start: 80, End: 160, Line: 11}, true},
		{"shorter", text[:152], 800, index.Range{Start: 80, End: 160, Line: 11}, true},
		{"much shorter", text[:40], 800, index.Range{Start: 80, End: 160, Line: 11}, true},
		{"empty", "", 800, index.Range{Start: 80, End: 160, Line: 11}, true},
	} {
		_, _, err := collectRanges(new(Reader), &fake{data: []byte(tc.data)}, int64(tc.size), 0, []index.Range{tc.p})
		if errors.Is(err, ErrChanged) != tc.fails || !tc.fails && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	binary := []byte(text)
	binary[100] = 0
	_, result, err := collectRanges(new(Reader), &fake{data: binary}, 800, 0, []index.Range{{Start: 80, End: 160, Line: 11}})
	if err != nil || result != (Result{Kind: Binary, Nul: 100}) {
		t.Errorf("a NUL: %+v, %v", result, err)
	}
	_, _, err = collectRanges(new(Reader), &fake{data: []byte(text), fail: 100}, 800, 0, []index.Range{{Start: 80, End: 160, Line: 11}})
	if !errors.Is(err, errDisk) {
		t.Errorf("a failure: %v", err)
	}
}
