package match

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/search/dfa"
	"mcp-toolset/internal/search/pattern"
)

func compile(t testing.TB, src string, o Options) *Matcher {
	t.Helper()
	m, err := Compile(src, o)
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return m
}

func whole(s string) Text { return Text{Data: []byte(s), Begin: true, End: true} }

func linesOf(m *Matcher, t Text) (all []string) {
	m.Lines(t, func(start, end int) bool {
		all = append(all, string(t.Data[start:end]))
		return true
	})
	return all
}

func matchesOf(m *Matcher, t Text) (all []string) {
	m.Matches(t, func(start, end int) bool {
		all = append(all, string(t.Data[start:end]))
		return true
	})
	return all
}

func TestSpanning(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		lines         []string
		matches       []string
	}{
		{`a\nb`, "a\nb\na\nc\n", []string{"a", "b"}, []string{"a\nb"}},
		{`a\n`, "a\nb\na\n", []string{"a", "a"}, []string{"a\n", "a\n"}}, // the line after is not touched
		{`\nb`, "a\nb\n", []string{"a", "b"}, []string{"\nb"}},
		{`a\nb`, "xa\nbya\nbz\n", []string{"xa", "bya", "bz"}, []string{"a\nb", "a\nb"}}, // two matches on a line
		{`(?:a|\n)`, "aa\naa\n", []string{"aa", "aa"}, []string{"a", "a", "\n", "a", "a", "\n"}},
		{`\n*`, "ab\n\nc", []string{"ab", "", "c"}, []string{"", "", "\n\n", ""}}, // the last one does not touch one before
		{`(?:\n\z|q)`, "a\n", []string{"a"}, []string{"\n"}},
		{`(?:x\n)?\z`, "a\n", nil, []string{""}}, // after the last line
		{`(?:x\n)?\z`, "a", []string{"a"}, []string{""}},
		{`\A(?:a\n)+`, "a\na\nb\na\n", []string{"a", "a"}, []string{"a\na\n"}},
		{`[^x]+`, "a\nb\n", []string{"a", "b"}, []string{"a\nb\n"}},
		{`a.b`, "a\nb", []string{"a", "b"}, []string{"a\nb"}},
		{`\n`, "", nil, nil},
		{`[\s]*`, "", nil, nil},
		{`(?:^\s*$)`, "a\n\n\nb\n", []string{"", ""}, []string{"\n", ""}},
	} {
		m := compile(t, c.pattern, Options{Multiline: true})
		if !m.Spanning() {
			t.Errorf("%q does not span", c.pattern)
		}
		if got := linesOf(m, whole(c.text)); !slices.Equal(got, c.lines) {
			t.Errorf("%q in %q: lines %q, want %q", c.pattern, c.text, got, c.lines)
		}
		if got := matchesOf(m, whole(c.text)); c.matches != nil && !slices.Equal(got, c.matches) {
			t.Errorf("%q in %q: matches %q, want %q", c.pattern, c.text, got, c.matches)
		}
		if m.Spans([]byte("a"), -1) != nil {
			t.Errorf("%q has spans in a line", c.pattern)
		}
	}
}

// standard returns package regexp's version of a multiline pattern for a text that may
// be a part: \A and \z match only at the ends of the whole.
func standard(t *testing.T, src string, place Text) *regexp.Regexp {
	t.Helper()
	p, err := pattern.Parse(src, pattern.Options{Multiline: true})
	if err != nil {
		t.Fatal(err)
	}
	all := p.String()
	if !place.Begin {
		all = strings.ReplaceAll(all, `\A`, `[^\x00-\x{10FFFF}]`)
	}
	if !place.End {
		all = strings.ReplaceAll(all, `\z`, `[^\x00-\x{10FFFF}]`)
	}
	return regexp.MustCompile(all)
}

// TestStandard checks that on ASCII the matches are those of package regexp.
func TestStandard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, pattern := range []string{`\n?a`, `a\n?`, `^a|\n\n`, `(?s:.)`, `\s*`, `\ba\n?`, `$\n?`, `(?:^|x)\n?`, `\A\na|b\n`, `(?:a\n)*?\z|b`, `[^b]*`, `^ab|a|\n\n`} {
		m := compile(t, pattern, Options{Multiline: true})
		for range 30 {
			var b strings.Builder
			for range r.IntN(400) {
				b.WriteString([]string{"a", "b", "x", "\n", "\n", " "}[r.IntN(6)])
			}
			text := b.String()
			if r.IntN(4) == 0 {
				text = strings.ReplaceAll(text, "\n", "") + "\n"
			}
			for _, place := range []Text{whole(text), {Data: []byte(text), End: true}, {Data: []byte(text), Begin: true}} {
				var want []string
				if len(text) > 0 {
					want = standard(t, pattern, place).FindAllString(text, -1)
				}
				if got := matchesOf(m, place); !slices.Equal(got, want) {
					t.Fatalf("%q in %q:\n%q, want\n%q", pattern, text, got, want)
				}
			}
		}
	}
}

// TestStops checks that the search stops when yield returns false.
func TestStops(t *testing.T) {
	text := whole(strings.Repeat("a\nb\n", 1000))
	for _, pattern := range []string{`a\nb`, "[ab]"} {
		for stop := range 4 {
			n := 0
			compile(t, pattern, Options{Multiline: true}).Lines(text, func(int, int) bool { n++; return n <= stop })
			if n != stop+1 {
				t.Errorf("%q: %d lines came, want %d", pattern, n, stop+1)
			}
		}
	}
}

// declined returns the matcher of a pattern as if package dfa had declined it.
func declined(t *testing.T, src string) *Matcher {
	t.Helper()
	p, err := pattern.Parse(src, pattern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := dfa.NewText(p.Tree, false)
	if err != nil {
		t.Fatal(err)
	}
	return &Matcher{text: text}
}

// large is declined by package dfa because of the number of its parts.
const large = `(?:[ab]|\w{300})`

func TestFallback(t *testing.T) {
	if m := compile(t, large, Options{}); m.lines != nil || m.spans {
		t.Error("no pattern is left to package regexp")
	} else if got := linesOf(m, whole("a\nx\nb")); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		pattern, text string
		lines         []string
	}{
		{"^[ab]$", "a\nx\nb\r\n", []string{"a", "b\r"}},
		{`\Aa`, "a\nb\na\n", []string{"a"}}, // not the beginning of each line
		{`b\z`, "b\nb", []string{"b"}},
		{`b\z`, "a\nb\n", nil},
	} {
		m := declined(t, c.pattern)
		if got := linesOf(m, whole(c.text)); !slices.Equal(got, c.lines) || m.Count(whole(c.text)) != len(c.lines) {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.text, got, c.lines)
		}
	}
	if n := declined(t, `\Aa`).Count(Text{Data: []byte("a\n"), End: true}); n != 0 {
		t.Errorf("\\A holds at a part that does not begin the text: %d", n)
	}
}

// TestLineSpans checks that anchors of the text do not match at the ends of a line.
func TestLineSpans(t *testing.T) {
	text := whole("a b\na b")
	for pattern, want := range map[string][2]int{`a|b`: {2, 2}, `\Aa|b`: {2, 1}, `b\z|a`: {1, 2}} {
		for _, m := range []*Matcher{compile(t, pattern, Options{}), declined(t, pattern)} {
			for i, n := range want {
				if got := len(m.LineSpans(text, 4*i, 4*i+3)); got != n {
					t.Errorf("%q in line %d: %d spans, want %d", pattern, i+1, got, n)
				}
			}
		}
	}
}

// TestQuickWay checks that a pattern that was parsed for multiline but cannot match a
// newline is searched line by line.
func TestQuickWay(t *testing.T) {
	for pattern, spans := range map[string]bool{
		"foo": false, `\w+`: false, "^a$": false, `\Aa`: false, `a\z`: false, `[^\n]`: false, `(?-s:.)`: false, "": false, `[a-z]|\d`: false,
		".": true, `\s`: true, "[^a]": true, `\n`: true, `a\nb`: true, `(?:x(?:y|\W))*`: true, `[\x00-\x{10ffff}]`: true,
	} {
		if got := compile(t, pattern, Options{Multiline: true}).Spanning(); got != spans {
			t.Errorf("%q: spanning is %t", pattern, got)
		}
		if pattern != `\n` && pattern != `a\nb` && compile(t, pattern, Options{}).Spanning() {
			t.Errorf("%q spans without multiline", pattern)
		}
	}
}

// TestAgree checks that Count, Any and Lines agree, and that lines are those that a
// match touches.
func TestAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b", `\n`, ".", `\s`, "^", "$", `\A`, `\z`, "(?:a|b)", "x*", `[^a]`, "(?i:B)", `\n+`, "ab", `b\na`}
	for range 3000 {
		var src strings.Builder
		multi := r.IntN(2) == 0
		for range 1 + r.IntN(4) {
			if p := parts[r.IntN(len(parts))]; multi || !strings.Contains(p, `\n`) {
				src.WriteString(p)
			}
		}
		text := make([]byte, r.IntN(12))
		for i := range text {
			text[i] = "aabx\n\n"[r.IntN(6)]
		}
		m, p := compile(t, src.String(), Options{Multiline: multi}), whole(string(text))
		lines := linesOf(m, p)
		if m.Count(p) != len(lines) || m.Any(p) != (len(lines) > 0) {
			t.Fatalf("%q in %q: %d lines, Count %d, Any %t", &src, text, len(lines), m.Count(p), m.Any(p))
		}
		if want := touched(t, src.String(), multi, string(text)); !slices.Equal(lines, want) {
			t.Fatalf("%q in %q: lines %q, want %q", &src, text, lines, want)
		}
	}
}

func emptyAt(re *regexp.Regexp, rest string) bool {
	re = regexp.MustCompile(strings.ReplaceAll(re.String(), `\A`, `[^\x00-\x{10FFFF}]`))
	f := re.FindStringIndex(rest)
	return f != nil && f[1] == 0
}

// touched finds lines by package regexp in the simplest way.
func touched(t *testing.T, src string, multi bool, text string) (lines []string) {
	flags := "(?m)"
	if multi {
		flags = "(?ms)"
	}
	re, err := regexp.Compile(flags + src)
	if err != nil {
		t.Fatal(err)
	}
	found, at := re.FindAllStringIndex(text, -1), 0
	if text == "" {
		return nil
	}
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	for _, l := range all {
		end := at + len(l)
		if !multi { // a match within the line, or none
			inside := re
			if at > 0 {
				inside = regexp.MustCompile(flags + strings.ReplaceAll(src, `\A`, `[^\x00-\x{10FFFF}]`))
			}
			if end < len(text) || strings.HasSuffix(l, "\n") {
				inside = regexp.MustCompile(strings.ReplaceAll(inside.String(), `\z`, `[^\x00-\x{10FFFF}]`))
			}
			if inside.MatchString(strings.TrimSuffix(l, "\n")) {
				lines = append(lines, strings.TrimSuffix(l, "\n"))
			}
		} else if at > 0 && at < len(text) && slices.ContainsFunc(found, func(f []int) bool { return f[1] == at && f[0] < at }) && emptyAt(re, text[at:]) {
			lines = append(lines, strings.TrimSuffix(l, "\n")) // touches a match, but in another line
		} else if slices.ContainsFunc(found, func(f []int) bool {
			from, to := f[0], max(f[1], f[0]+1)
			return from < end && to > at || from == to-1 && f[0] == f[1] && from == end && end == len(text) && !strings.HasSuffix(text, "\n")
		}) {
			lines = append(lines, strings.TrimSuffix(l, "\n"))
		}
		at = end
	}
	return lines
}

// TestHolds checks that only for a plain literal the text around a part of a line does
// not matter.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		pattern, part string
		o             Options
		holds         bool
	}{
		{"foo", "afoob", Options{}, true},
		{"foo", "afo", Options{}, false},
		{"FOOK", "afoo\u212Ab", Options{Fold: true}, true},
		{`\bfoo\b`, "foo", Options{}, false},
		{"foo$", "foo", Options{}, false},
		{"fo+", "foo", Options{}, false},
		{`foo\nbar`, "foo\nbar", Options{Multiline: true}, false},
		{"foo", "foo", Options{Multiline: true}, true},
	} {
		if got := compile(t, c.pattern, c.o).Holds([]byte(c.part)); got != c.holds {
			t.Errorf("%s %+v: %q holds one: %t", c.pattern, c.o, c.part, got)
		}
	}
}

// TestNear checks that the rarest literal is searched for in all its forms, and that
// Near returns true if none is known.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		pattern, part string
		o             Options
		near          bool
		reach         int // minimum
	}{
		{"some|others", "an other", Options{}, false, 6},
		{"some|others", "and others", Options{}, true, 6},
		{"kkks", "x\u212A\u212A\u212A\u017F", Options{Fold: true}, true, 11},
		{"kkks", "x\u212A\u212A\u212A", Options{Fold: true}, false, 11},
		{"kkks", "x\u212A\u212A\u212A\u017F", Options{}, false, 4},
		{`\w+`, "", Options{}, true, 0},
	} {
		m := compile(t, c.pattern, c.o)
		if near, reach := m.Near([]byte(c.part)), m.Reach(); near != c.near || reach < c.reach {
			t.Errorf("%s %+v: %q is near: %t, at most %d bytes long", c.pattern, c.o, c.part, near, reach)
		}
	}
}
