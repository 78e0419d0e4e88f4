package spool

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBinary checks that binary output is recognized, whole, by its ends and in parts.
func TestBinary(t *testing.T) {
	random := make([]byte, 300_000)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	program := "\x7fELF" + strings.Repeat("\x00\n", 2000) + string(random) + strings.Repeat(".text\x00\n", 1000)
	for name, tc := range map[string]struct {
		text string
		want bool
	}{
		"random":                 {string(random), true},
		"a little random":        {string(random[:100]), true},
		"some bytes":             {"\x00\x01\xff\xfe", false},
		"a program":              {program, true},
		"text, then random":      {"Compiling\n" + string(random), true},
		"text with a bad line":   {strings.Repeat("a line of a log\n", 1000) + string(random[:300]) + "\n", false},
		"names with NUL":         {strings.Repeat("a\x00", 1000), false},
		"Latin-1":                {strings.Repeat("d\xe9j\xe0 vu\n", 1000), false},
		"Cyrillic in KOI8-R":     {strings.Repeat("\xf0\xd2\xc9\xd7\xc5\xd4 ", 1000), false},
		"UTF-8":                  {strings.Repeat("Привет, мир\n", 1000), false},
		"colours and a bar":      {strings.Repeat("\x1b[31m50%\r100%\x1b[0m\b\a\n", 1000), false},
		"nothing":                {"", false},
		"a short line, complete": {"ok\n", false},
	} {
		l := logOf(t, tc.text, true)
		whole, err := l.View(1 << 22)
		if err != nil || whole.Binary != tc.want {
			t.Errorf("%s: whole: binary %t, %v", name, whole.Binary, err)
		}
		part, err := l.Read(t.Context(), Query{Max: 1 << 22})
		if err != nil || part.Binary != tc.want {
			t.Errorf("%s: a part: binary %t, %v", name, part.Binary, err)
		}
		if ends, err := l.View(3000); err != nil || tc.want && !ends.Binary {
			t.Errorf("%s: both ends: binary %t, %v", name, ends.Binary, err)
		}
	}
}

func TestAmount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1,000 bytes", 5_000_000: "5,000,000 bytes", 123_456: "123,456 bytes"} {
		if got := amount(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
