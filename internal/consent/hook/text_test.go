package hook

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"plain é漢 text\n\tsecond":             "plain é漢 text\n\tsecond",
		"\x1b[1;31mred\x1b[0m, \x1b[2Jclear":  "red, clear",
		"\x1b]0;title\a1\x1b]8;;u\x1b\\2":     "12",
		"\x1b]never ends\nline":               "never ends\nline",
		"\x1b]0;a\nb\ac":                      "0;a\nbc",
		"\x1bPq#0;1\x1b\\after":               "after",
		"\x1b(Bsgr\x1b=x\x1b7y":               "sgrxy",
		"\u009b31mc1":                         "c1",
		"\x1b[31":                             "",
		"\x1b[31\nnext":                       "\nnext",
		"\x1b":                                "",
		"\x1b\x1b[1mtwice":                    "twice",
		"a\r\nb\rc\r":                         "a\nb\nc\n",
		"nul\x00bell\adel\x7f":                "nulbelldel",
		"\u202ebidi\u2066\u200bzero\ufeff":    "bidizero",
		"no\u00a0break\u3000wide":             "no break wide",
		"line\u2028para\u2029end\u0085":       "line\npara\nend",
		"bad\xff\xfeutf\xe2\x82":              "bad\ufffdutf\ufffd",
		"\x1b[38;5;1malso with \x1b[?25lmode": "also with mode",
	} {
		if got := lines(in); got != want {
			t.Errorf("lines(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("\x1b[31ma\x1b]0;b\ac\r\n\u202e\xff")
	f.Fuzz(func(t *testing.T, in string) {
		got := lines(in)
		if !utf8.ValidString(got) || lines(got) != got {
			t.Fatalf("%q becomes %q, and that %q", in, got, lines(got))
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
				t.Fatalf("%q keeps %q", in, r)
			}
		}
	})
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		" ./check.sh \n":         "./check.sh",
		"a\nb\x1b[1m":            `a\nb\x1b[1m`,
		strings.Repeat("é", 120): strings.Repeat("é", 120),
		strings.Repeat("é", 121): strings.Repeat("é", 119) + "…",
	} {
		if got := short(in); got != want {
			t.Errorf("short(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	long := strings.Repeat("漢", maxText+1)
	stored := map[string]string{}
	store := func(name, text string) (string, error) {
		stored[name] = text
		return "/store/" + name + "\n", nil
	}
	for _, c := range []struct {
		name, text, want string
		spill            func(string, string) (string, error)
	}{
		{"fits", " \n" + long[3:] + "\x1b[0m\n", long[3:], store},
		{"stored", "\x1b[1m" + long, strings.Repeat("漢", 2000) + "\n(these are the first 2000 of 10001 characters; read /store/PreToolUse-3-reason\\n for all of them)", store},
		{"nowhere", long, long[3:] + "\n(these are the first 10000 of 10001 characters; the others could not be stored, so have the hook say less)", nil},
		{"failing", long, long[3:] + "\n(these are the first 10000 of 10001 characters; the others could not be stored, so have the hook say less)",
			func(string, string) (string, error) { return "", errors.New("full") }},
	} {
		log := &strings.Builder{}
		r := &combiner{Runner: New(Config{Log: slog.New(slog.NewTextHandler(log, nil))}), event: pre, spill: c.spill}
		if got := r.shorten(2, "reason", c.text); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		if c.name == "failing" && !strings.Contains(log.String(), "full") {
			t.Errorf("the log says %q", log)
		}
	}
	if fmt.Sprint(len(stored)) != "1" || stored["PreToolUse-3-reason"] != long {
		t.Errorf("%d texts were stored", len(stored))
	}
}
