package terminal

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain\ttext ":                    "plain\ttext ",
		"é漢字👩\u200d💻":                     "é漢字👩\u200d💻",
		"\x1b[1;31mred\x1b[0m":            "red",
		"\x1b[38;2;1;2;3mrgb\x1b[m":       "rgb",
		"\x1b[?25lhidden cursor\x1b[?25h": "hidden cursor",
		"\u009b31mC1\u009b0m":             "C1",
		"\x1b]0;title\aafter":             "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":   "link",
		"\u009d0;title\u009cafter":                   "after",
		"\x1bPdevice\x1b\\after":                     "after",
		"\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\x": "x",
		"\x1b(Bcharset\x1b=\x1b7\x1bM":               "charset",
		"lone \x1b":                                  "lone ",
		"lone \x1b\x1b[31mx":                         "lone x",
		"\x1b]0;never ended":                         "0;never ended",
		"\x1b[31":                                    "31",
		"\x1b[3\x01m":                                "3m",
		"a\x00b\x07c\x7fd\x1fe":                      "abcde",
		"bad\xff\xfeutf8\xc3":                        "bad\uFFFD\uFFFDutf8\uFFFD",
		"valid\uFFFD":                                "valid\uFFFD",
		"10%\r50%\r100%":                             "100%",
		"long one\rshort":                            "shortone",
		"long one\r\x1b[Kshort":                      "short",
		"long one\x1b[2K\x1b[1Gshort":                "short",
		"long one\x1b[1K\rx":                         "x",
		"end of line\r":                              "end of line",
		"end of line\r\r":                            "end of line",
		"\r":                                         "",
		"abc\b\bX":                                   "aXc",
		"\b\b\bx":                                    "x",
		"typo\b \bX":                                 "typX",
		"abc\x1b[2DX":                                "aXc",
		"ab\x1b[3CX":                                 "ab   X",
		"a\x1b[5Gb":                                  "a   b",
		"a\x1b[;5Gb":                                 "ab",
		"100%  \x1b[K":                               "100%  ",
		"a\u202etxt.exe\u2069":                       `a\u202etxt.exe\u2069`,
		"hid\U000E0041den":                           `hid\U000e0041den`,
		"漢字\r漢":                                      "漢字",
	} {
		if got := string(AppendLine(nil, []byte(in))); got != want {
			t.Errorf("AppendLine(%q) = %q, want %q", in, got, want)
		}
	}
	if got := AppendLine([]byte("prefix-"), []byte("a\rb")); string(got) != "prefix-b" {
		t.Errorf("after earlier text: %q", got)
	}
	// A cursor that moves far away takes no memory.
	far := strings.Repeat("\x1b[999999C\x1b[999999Gx", 100)
	if got := AppendLine(nil, []byte(far)); len(got) > maxColumn+200 {
		t.Errorf("it has %d bytes", len(got))
	}
}

// pieces lists the parts of random output.
var pieces = []string{
	"a", "b", " ", "\t", "word ", "é", "漢", "\r", "\b", "\n", "\n", "\r\n", "\x1b", "\x1b[", "\x1b[31m", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[0K",
	"\x1b[3D", "\x1b[2C", "\x1b[G", "\x1b[4G", "\x1b]0;t\a", "\x1b]0;t\x1b\\", "\x1b]", "\x1bP", "\u009b", "\u009b1m", "\u009c", "\x9b", "\xff", "\xe6\xbc",
	"\u202e", "\x00", "\x7f", "\x1b(B", "\x1b7", "m", "0;", "\a", "\x1b\\", "\x1b[?1", "\x1b[99999C", "\U000E0041",
}

func randomText(rnd *rand.Rand, size int) string {
	var b strings.Builder
	some := make([]string, 1+rnd.IntN(8))
	for i := range some {
		some[i] = pieces[rnd.IntN(len(pieces))]
	}
	for b.Len() < size {
		if rnd.IntN(3) == 0 {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		} else {
			b.WriteString(some[rnd.IntN(len(some))])
		}
	}
	return b.String()
}

// The sequences of slowLine, in the order it tries them.
var (
	slowCommand = regexp.MustCompile(`^(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}\x{9e}\x{9f}])[^\x00-\x08\x0a-\x1f\x7f-\x{9f}]*(?:\x07|\x{9c}|\x1b\\)`)
	slowControl = regexp.MustCompile(`^(?:\x1b\[|\x{9b})([\x20-\x3f]*)([\x40-\x7e])`)
	slowIntro   = regexp.MustCompile(`^\x1b[\[\]PX^_]`)
	slowEscape  = regexp.MustCompile(`^\x1b[\x20-\x2f]*[\x30-\x7e]?`)
	slowNumber  = regexp.MustCompile(`^[0-9]*$`)
)

// slowLine is the obvious implementation of AppendLine: a terminal of cells, whatever the line.
func slowLine(line string) string {
	line = strings.TrimRight(line, "\r")
	var cells []string
	at, back := 0, false
	number := func(p string) (n int) {
		for _, c := range p {
			n = min(10*n+int(c-'0'), 1<<20)
		}
		return n
	}
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		var begin string // start of a sequence, if there is one
		if r == esc || r >= 0x80 && r < 0xa0 {
			begin = line
		}
		if m := slowCommand.FindString(begin); m != "" {
			line = line[len(m):]
			continue
		}
		if m := slowControl.FindStringSubmatch(begin); m != nil {
			line = line[len(m[0]):]
			if !slowNumber.MatchString(m[1]) {
				continue
			}
			n := number(m[1])
			switch m[2] {
			case "G":
				at, back = min(max(n, 1)-1, maxColumn), true
			case "C":
				back = true
				if to := at + max(n, 1); to <= maxColumn {
					at = to
				} else {
					at = max(at, maxColumn)
				}
			case "D":
				at, back = max(0, at-max(n, 1)), true
			case "K":
				back = back || n != 0
				for i := range min(at, len(cells)) {
					if n == 1 || n == 2 {
						cells[i] = " "
					}
				}
				if n == 0 || n == 2 {
					cells = cells[:min(at, len(cells))]
				}
			}
			continue
		}
		switch {
		case r == utf8.RuneError && size == 1:
			size = 1
		case slowIntro.MatchString(begin):
			line = line[2:]
			continue
		case r == 0x1b:
			line = line[len(slowEscape.FindString(line)):]
			continue
		case r == '\r':
			at, back, line = 0, true, line[1:]
			continue
		case r == '\b':
			at, back, line = max(0, at-1), true, line[1:]
			continue
		case r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0:
			line = line[size:]
			continue
		}
		for at >= len(cells) {
			cells = append(cells, " ")
		}
		text := string(r)
		if r == 0x202e {
			text = `\u202e`
		} else if r == 0xe0041 {
			text = `\U000e0041`
		}
		cells[at] = text
		at++
		line = line[size:]
	}
	text := strings.Join(cells, "")
	if back {
		text = strings.TrimRight(text, " ")
	}
	return text
}

func TestAppendLineRandom(t *testing.T) {
	for seed := range uint64(randomTexts) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		text := strings.ReplaceAll(randomText(rnd, rnd.IntN(60)), "\n", "")
		if got, want := string(AppendLine(nil, []byte(text))), slowLine(text); got != want {
			t.Fatalf("seed %d: AppendLine(%q) = %q, want %q", seed, text, got, want)
		}
	}
}

func FuzzAppendLine(f *testing.F) {
	for seed := range uint64(20) {
		f.Add([]byte(randomText(rand.New(rand.NewPCG(seed, 2)), 50)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte{'\n'}, nil)
		before := bytes.Clone(line)
		got := AppendLine(nil, line)
		if !bytes.Equal(line, before) {
			t.Fatal("the line was changed")
		}
		if !utf8.Valid(got) {
			t.Fatalf("AppendLine(%q) is no UTF-8: %q", line, got)
		}
		for _, r := range string(got) {
			if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || misleads(r) {
				t.Fatalf("AppendLine(%q) has %U: %q", line, r, got)
			}
		}
		if again := AppendLine(nil, got); !bytes.Equal(again, got) {
			t.Fatalf("converted twice, %q becomes %q", got, again)
		}
		if len(got) > 10*len(line)+10*maxColumn {
			t.Fatalf("%d bytes become %d", len(line), len(got))
		}
		if want := slowLine(string(line)); want != string(got) && bytes.IndexFunc(line, misleads) < 0 {
			t.Fatalf("AppendLine(%q) = %q, want %q", line, got, want)
		}
		if short := Complete(line); !bytes.HasPrefix(line, short) {
			t.Fatalf("Complete(%q) = %q", line, short)
		}
	})
}
