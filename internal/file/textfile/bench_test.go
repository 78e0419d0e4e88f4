package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// bigText returns 8 MB of lines with a unique line in the middle.
func bigText(ending string) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 8<<20; i++ {
		fmt.Fprintf(&b, "\tif value%d := compute(%d, \"name\"); value > 0 {%s", i%1000, i, ending)
		if b.Len() > 4<<20 && b.Len() < 4<<20+60 {
			b.WriteString("the needle" + ending + "is here" + ending)
		}
	}
	return b.Bytes()
}

func BenchmarkApply8MB(b *testing.B) {
	mixed := append(bigText("\r\n"), '\n')
	for name, data := range map[string][]byte{
		"LF": bigText("\n"), "CRLF": bigText("\r\n"), "mixed": mixed,
		"UTF16": Encode(string(bigText("\n")[:4<<20+200]), UTF16LE).Bytes(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				t, err := Decode(data)
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := t.Apply(Edit{Old: "needle\nis", New: "thread\nwas"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMiss8MB(b *testing.B) {
	data := bigText("\n")
	lines := strings.SplitAfter(string(data), "\n")
	hundred := strings.Join(lines[90_000:90_100], "")
	t, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	for name, old := range map[string]string{
		"case":    strings.ToUpper(hundred),
		"indent":  strings.ReplaceAll(hundred, "\t", "    "),
		"nearest": strings.ReplaceAll(hundred, "name", "nmae"),
		"nothing": "zzzzzzzzzzzzzzzzzzzzzzz",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := t.Apply(Edit{Old: old, New: "x"}); err == nil {
					b.Fatal("found")
				}
			}
		})
	}
}
