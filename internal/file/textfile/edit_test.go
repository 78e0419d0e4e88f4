package textfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestApply checks each rule on which bytes change. The errors are in errors_test.go.
func TestApply(t *testing.T) {
	le := func(s string) string { return "\xff\xfe" + refEncode(s, UTF16LE) }
	be := func(s string) string { return "\xfe\xff" + refEncode(s, UTF16BE) }
	for name, tc := range map[string]struct {
		file, old, new string
		all            bool
		want           string
	}{
		"an edit":                          {"a b c\n", "b", "x", false, "a x c\n"},
		"no final newline":                 {"a\nb", "b", "c", false, "a\nc"},
		"what no model sees as a line end": {"a\u2028\fb\u0085c\u2029x\n", "x", "y", false, "a\u2028\fb\u0085c\u2029y\n"},
		"a byte order mark":                {"\xef\xbb\xbfa", "a", "b", false, "\xef\xbb\xbfb"},
		"mixed endings around":             {"a\r\nb\nc\rd\r\n", "c", "x", false, "a\r\nb\nx\rd\r\n"},
		"mixed endings inside":             {"a\r\nb\nc\r\n", "a\nb\nc", "a\nx\nc", false, "a\r\nx\nc\r\n"},
		"UTF-16":                           {le("aé😀\r\nb"), "😀\nb", "😀\n𝄞", false, le("aé😀\r\n𝄞")},
		"UTF-16 with its high byte first":  {be("a\r\n"), "a", "b\nc", false, be("b\r\nc\r\n")},
		"an unpaired surrogate around":     {"\xff\xfe\x00\xd8a\x00", "a", "b", false, "\xff\xfe\x00\xd8b\x00"},
		"an unpaired surrogate inside":     {"\xfe\xff\xdc\x00\x00a", "\uFFFDa", "\uFFFDb", false, "\xfe\xff\xdc\x00\x00b"},
		"all of several":                   {"a\r\na\na", "a", "b", true, "b\r\nb\nb"},
		"all do not overlap":               {"aaa", "aa", "b", true, "ba"},
		"characters that begin alike":      {le("é\n"), "é", "è", false, le("è\n")},
		"characters that end alike":        {le("é\n"), "é", "ĩ", false, le("ĩ\n")},
		"a BOM inside a text is text":      {"\xef\xbb\xbf\uFEFFa", "\uFEFF", "", false, "\xef\xbb\xbfa"},

		`\n matches CRLF`:                       {"a\r\nb\r\n", "a\nb", "x\ny", false, "x\r\ny\r\n"},
		`\r\n is the same in a CRLF file`:       {"a\r\nb\r\nc", "a\r\nb\n", "x\ny\r\n", false, "x\r\ny\r\nc"},
		`\r\n in new is written as it is`:       {"a\nb", "a\n", "a\r\n", false, "a\r\nb"},
		`\r\n tells endings apart`:              {"a\nb\na\r\nb", "a\r\nb", "x\nb", false, "a\nb\nx\r\nb"},
		`\r\n and \n tell endings apart`:        {"a\r\nb\nc a\nb\r\nc", "a\nb\r\nc", "x\ny\r\nz", false, "a\r\nb\nc x\ny\r\nz"},
		`a lone \r is a character`:              {"a\rb\r\n", "a\rb", "a\rc", false, "a\rc\r\n"},
		`the \r of a CRLF is not a lone one`:    {"a\r\nb\r", "\r", "", false, "a\r\nb"},
		"a line added takes its line's ending":  {"a\nb\r\nc\n", "b", "b\nx", false, "a\nb\r\nx\r\nc\n"},
		"lines replaced one for one":            {"a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", false, "x\r\ny\nz\r\n"},
		"further lines as the line at hand":     {"a\r\nb\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\nz\nc\r\n"},
		"at the end as the line before":         {"a\n\r\nb", "b", "b\nc", false, "a\n\r\nb\r\nc"},
		"replaced to the end as the one before": {"q\na\r\nb", "a\nb", "x\ny\nz", false, "q\nx\r\ny\r\nz"},
		"LF where there is none":                {"a\rb", "b", "c\nd", false, "a\rc\nd"},

		"a line's content goes with the line":    {"a\nb\nc\n", "b", "", false, "a\nc\n"},
		"several lines go":                       {"a\r\nb\r\nc\r\nd", "b\nc", "", false, "a\r\nd"},
		"the first line goes":                    {"a\nb", "a", "", false, "b"},
		"the only line goes":                     {"a\n", "a", "", false, ""},
		"a part of a line leaves the rest":       {"a\nbc\nd", "b", "", false, "a\nc\nd"},
		"the end of a line leaves the rest":      {"a\nbc\nd", "c", "", false, "a\nb\nd"},
		"with its newline exactly that goes":     {"a\n\nb\n\nc", "b\n", "", false, "a\n\n\nc"},
		"with the newline before exactly that":   {"a\n\nb\nc", "\nb", "", false, "a\n\nc"},
		"the last line leaves a newline":         {"a\nb", "b", "", false, "a\n"},
		"all whole lines go, parts leave a rest": {"x\nax\nx\n", "x", "", true, "a\n"},
		"a line of spaces goes":                  {"a\n  \nb\n", "  ", "", false, "a\nb\n"},

		"CRLF for a file of LF":    {"a\nb\nc", "a\r\nb", "A\r\nx\r\nb", false, "A\nx\nb\nc"},
		"CRLF in old_string alone": {"a\nb\nc", "a\r\nb", "A\nb", true, "A\nb\nc"},

		"an empty file is filled":          {"", "", "a\r\nb\n", false, "a\r\nb\n"},
		"a mark alone is an empty text":    {"\xef\xbb\xbf", "", "a", false, "\xef\xbb\xbfa"},
		"a mark alone, filled as UTF-16":   {"\xfe\xff", "", "é\n", true, be("é\n")},
		"quotes are written as they are":   {"say “a”\n", "“a”", `"b"`, false, "say \"b\"\n"},
		"a decomposed accent is its own":   {"e\u0301 \u00e9", "\u00e9", "x", false, "e\u0301 x"},
		"a NUL far inside is a character":  {strings.Repeat("a", 8<<10) + "\x00b", "b", "c", false, strings.Repeat("a", 8<<10) + "\x00c"},
		"a mixed file, all, in long lines": {"x y\r\nx y\nx", "x", "1\n2", true, "1\r\n2 y\r\n1\n2 y\n1\n2"},
	} {
		text, err := Decode([]byte(tc.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e := Edit{tc.old, tc.new, tc.all}
		got, _, err := text.Apply(e)
		if err != nil || string(got.Bytes()) != tc.want || got.Encoding() != text.Encoding() {
			t.Errorf("%s: %+q, %v; want %+q", name, got.Bytes(), err, tc.want)
		}
		checkApply(t, []byte(tc.file), e)
	}
}

func TestPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		e    Edit
		want []Place
	}{
		"in a line":               {"a\nb\nc\n", Edit{Old: "b", New: "x"}, []Place{{Lines{2, 2}, Lines{2, 2}}}},
		"a newline is its line's": {"a\nb\nc\n", Edit{Old: "b\n", New: "x\ny\n"}, []Place{{Lines{2, 2}, Lines{2, 3}}}},
		"several move":            {"a\r\na\na", Edit{Old: "a", New: "x\ny", All: true}, []Place{{Lines{1, 1}, Lines{1, 2}}, {Lines{2, 2}, Lines{3, 4}}, {Lines{3, 3}, Lines{5, 6}}}},
		"lines that go":           {"a\nb\na\nb\n", Edit{Old: "a", New: "", All: true}, []Place{{Lines{1, 1}, Lines{1, 1}}, {Lines{3, 3}, Lines{2, 2}}}},
		"an empty file":           {"", Edit{New: "a\nb\n"}, []Place{{Lines{1, 1}, Lines{1, 2}}}},
	} {
		text, err := Decode([]byte(tc.file))
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := text.Apply(tc.e)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		data, seen, enc string
		ends            Endings
	}{
		{"", "", "UTF-8", Endings{}},
		{"a\r\nb\nc\rd\r\r\n", "a\nb\nc\rd\r\n", "UTF-8", Endings{1, 2, 2}},
		{"\xef\xbb\xbf\uFEFFa\n", "\uFEFFa\n", "UTF-8 with a byte order mark", Endings{LF: 1}},
		{"\xff\xfea\x00\r\x00\n\x00\x3d\xd8\x00\xde\x00\xd8", "a\n😀\uFFFD", "UTF-16 (little endian)", Endings{CRLF: 1}},
		{"\xfe\xff\x00\r\xd8\x00\xd8\x3d\xde\x00", "\r\uFFFD😀", "UTF-16 (big endian)", Endings{CR: 1}},
	} {
		text, err := Decode([]byte(tc.data))
		if err != nil {
			t.Errorf("Decode(%q): %v", tc.data, err)
			continue
		}
		if got := text.String(); got != tc.seen || text.Encoding().String() != tc.enc || text.Endings() != tc.ends || string(text.Bytes()) != tc.data {
			t.Errorf("Decode(%q) is %q in %s with %v", tc.data, got, text.Encoding(), text.Endings())
		}
	}
	for enc := UTF8; enc <= UTF16BE; enc++ {
		text := Encode("a\r\né😀", enc)
		again, err := Decode(text.Bytes())
		if err != nil || again.String() != "a\né😀" || again.Encoding() != enc || !bytes.Equal(again.Bytes(), text.Bytes()) {
			t.Errorf("Encode in %s: %q, %v", enc, text.Bytes(), err)
		}
	}
}

// Repetitive texts must not take more than linear time. Each of these would take minutes otherwise;
// the whole test takes less than a second.
func TestRepetitive(t *testing.T) {
	const n = 1 << 20
	as, ends := strings.Repeat("a", n), strings.Repeat("\r\n", n/2)
	for name, tc := range map[string]struct{ file, old string }{
		"one character":           {as, as[:n/2]},
		"all but one":             {as, as[:n/4] + "b"},
		"upper case":              {as, strings.ToUpper(as[:n/4])},
		"upper case, short":       {as, "AAAAAAAA"},
		"line endings":            {ends + "\n", ends[:n/4]},
		"line endings, cut":       {ends + "\n", ends[1 : n/4]},
		"a lone CR at the end":    {ends, ends[:n/4+1]},
		"line endings, plain":     {ends + "\n", strings.Repeat("\n", n/4)},
		"an ending on the way":    {strings.Repeat("\n", n/8) + ends, strings.Repeat("\n", n/16) + ends[:n/16]},
		"nothing but blanks":      {strings.Repeat(" ", n), "x" + strings.Repeat(" ", n/2)},
		"accents":                 {"Z" + strings.Repeat("\u0301", n/8), "z" + strings.Repeat("\u0301", n/16)},
		"numbers of lines":        {as, strings.Repeat("  1\ta\n", n/8)},
		"many lines nearly alike": {strings.Repeat("ab\n", n/3), strings.Repeat("aB\n", n/32) + "q"},
	} {
		for _, all := range []bool{false, true} {
			text, err := Decode([]byte(tc.file))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = text.Apply(Edit{Old: tc.old, New: "x\ny\n", All: all})
			if err != nil && len(err.Error()) > 20_000 {
				t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
			}
		}
	}
	// Each place needs the line ending of its line.
	long, err := Decode([]byte("\r\n" + as))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := long.Apply(Edit{Old: "a", New: "\n", All: true})
	if err != nil || string(got.Bytes()) != "\r\n"+strings.Repeat("\r\n", n) {
		t.Errorf("many places in one long line: %v", err)
	}
}

// TestGrowth checks that an edit that would make a text too large is rejected before it takes the
// memory.
func TestGrowth(t *testing.T) {
	text, err := Decode([]byte(strings.Repeat("a", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = text.Apply(Edit{Old: "a", New: strings.Repeat("b", 20_000), All: true})
	if want := "would become 20971520000 bytes long, more than the 67108864 that are edited. Replace fewer places, or use a script."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, _, err := text.Apply(Edit{Old: "a", New: "bc", All: true}); err != nil {
		t.Errorf("twice as long: %v", err)
	}
}
