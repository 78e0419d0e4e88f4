package notebook

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// large returns notebooks of about n bytes. Each kind takes memory in its own way.
func large(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	list := func(s string) string { return strings.TrimSuffix(repeat(s+","), ",") }
	one := func(output string) string { return book(code("a", `, "outputs": [`+output+`]`)) }
	stream := func(text string) string { return one(`{"output_type": "stream", "text": ` + text + `}`) }
	return map[string]string{
		"one string":        stream(`"` + repeat(`word \n`) + `"`),
		"a list of lines":   stream("[" + list(`"some words in a line, and \"more\" words\n"`) + "]"),
		"colours":           stream("[" + list(`"some \u001b[31mred\u001b[0m words in a line, and more words\n"`) + "]"),
		"a progress bar":    stream(`"` + repeat(`\r 50%|#####     | some words`) + `"`),
		"one coloured line": stream(`"\u001b[31m` + repeat("some words ") + `"`),
		"pictures":          one(list(`{"output_type": "display_data", "data": {"image/png": "` + strings.Repeat("A", 400_000) + `"}}`)),
		"one picture":       one(`{"output_type": "display_data", "data": {"image/png": "` + strings.Repeat("AAAA", n/4) + `\n"}}`),
		"metadata":          `{"nbformat": 4, "cells": [], "metadata": [` + list(`{"a": [1]}`) + `]}`,
		"small cells":       book(list(code("", `, "source": "x = 1"`))),
	}
}

// TestMemory checks that reading takes at most three times the size of the file, besides the file,
// even counted as if nothing were ever freed.
func TestMemory(t *testing.T) {
	for name, data := range large(largeSize) {
		raw := []byte(data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := Parse(raw)
		if err != nil {
			t.Fatal(name, err)
		}
		runtime.ReadMemStats(&after)
		took := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(raw))
		t.Logf("%s: %.1f times", name, took)
		if took > 3 {
			t.Errorf("%s: reading took %.1f times the size of the file", name, took)
		}
		runtime.KeepAlive(n)
	}
}

// TestManyCells checks that reading is linear in the number of cells. It takes some 50 ms, and
// twenty times that with the race detector; only a reader that scans the file again for each cell
// reaches the deadline.
func TestManyCells(t *testing.T) {
	var cells []string
	for i := range 20_000 {
		cells = append(cells, code(fmt.Sprint(i), `, "source": ["x = 1\n"], "outputs": [{"output_type": "stream", "text": ["a\n"]}]`))
	}
	data := []byte(book(strings.Join(cells, ",\n")))
	start := time.Now()
	n, err := Parse(data)
	if took := time.Since(start); err != nil || len(n.Cells) != 20_000 || took > 20*time.Second {
		t.Errorf("%v, took %v", err, took)
	}
	shown, v := 0, &View{Next: 1}
	for v.Next > 0 {
		if v, err = n.View(Request{First: v.Next, Budget: 100_000}); err != nil {
			t.Fatal(err)
		}
		if len(v.Cells) == 0 || v.Cells[0].Number != shown+1 {
			t.Fatalf("the page behind cell %d begins elsewhere", shown)
		}
		shown += len(v.Cells)
	}
	if shown != 20_000 {
		t.Errorf("following Next showed %d cells", shown)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, data := range large(8 << 20) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse([]byte(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
