package terminal

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\né":                      "plain\ttext\né",
		"\x1b[31mred\x1b[0m \x1b[1;38;5;12mx": "red x",
		"a\r\nb\r\n":                          "a\nb\n",
		" 10%\r 50%\r100%\n":                  "100%\n",
		"downloading\rdone\n":                 "doneloading\n", // as on a terminal
		"downloading\r\x1b[Kdone":             "done",
		"downloading\x1b[2K\rdone":            "done",
		"downloading\x1b[2Kdone":              "           done",
		"ab\x1b[1K\rX":                        "X",
		"50%\r":                               "50%",
		"\r\r\n\nx":                           "\n\nx",
		"éé\rx":                               "xé",
		"rm -rf /\b\b\b\b\b\b\b\bls":          "ls -rf /",
		"\b\bx":                               "x",
		"\x1b]0;title\ax":                     "x",
		"\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bP+q\x1b\\x":                     "x",
		"\x1b]0;never closed":                "0;never closed",
		"\x1b]0;cut\nshown\a":                "0;cut\nshown",
		"\u009b31mred\u009d0;t\u009cx\u0085": "redx",
		"\x1b(Bx\x1b7\x1b":                   "x",
		"\x1b[12":                            "12",
		"\x1b[1\x1b[31mx":                    "1x",
		"ab\x1b[3Dc\x1b[5Gd":                 "cb  d",
		"a\u202eb\nc":                        "a\\u202eb\nc",
		"bad\xff\nutf8":                      "bad\uFFFD\nutf8",
		"bell\a nul\x00 del\x7f ff\f":        "bell nul del ff",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTextIsLinear checks that texts that make a terminal look ahead are read once. It takes a
// few milliseconds; a reader that starts again at each of them reaches the deadline.
func TestTextIsLinear(t *testing.T) {
	for _, piece := range []string{"\u009d", "\x1b]", "\x1b[", "\x1b[1", "\x1bP\x1b", "\r", "\b", "\x1b[2K\ra"} {
		text := strings.Repeat(piece, 50_000)
		start := time.Now()
		got := Text(text)
		if took := time.Since(start); len(got) > len(text) || took > 20*time.Second {
			t.Errorf("%q: %d bytes, took %v", piece, len(got), took)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"a\rb\x1b[K", "\x1b]0;x\a\u009b1m\b\b", "\x1bP\x1b\\", "é\r\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		got := Text(text)
		if strings.ContainsFunc(got, special) || !utf8.ValidString(got) {
			t.Fatalf("%q: %q", text, got)
		}
		if again := Text(got); again != got {
			t.Fatalf("%q: %q, and then %q", text, got, again)
		}
	})
}

// TestErasingAgainIsFree checks that a line that is erased repeatedly takes no longer than one that
// is written as often.
func TestErasingAgainIsFree(t *testing.T) {
	line := strings.Repeat("a", 1_000_000) + strings.Repeat("\x1b[1K", 1_000_000) + "\rb"
	done := make(chan string, 1)
	go func() { done <- Text(line) }()
	select {
	case got := <-done:
		if got != "b" {
			t.Errorf("%d characters are left", len(got))
		}
	case <-time.After(time.Minute): // a busy machine needs some seconds
		t.Fatal("it takes more than a minute")
	}
	for text, want := range map[string]string{
		"abc\x1b[1Kd":             "   d",
		"abc\x1b[1K\rx\x1b[1Ky":   " y",
		"abc\x1b[2K\rxy":          "xy",
		"abc\x1b[1K\rxyz\x1b[1Kq": "   q",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
