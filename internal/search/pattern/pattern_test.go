package pattern

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// ripgrep returns the path of the binary or skips the test.
func ripgrep(t *testing.T) string {
	t.Helper()
	rg := os.Getenv("RIPGREP")
	if rg == "" {
		var err error
		if rg, err = exec.LookPath("rg"); err != nil {
			t.Skip("no ripgrep: neither rg in PATH nor RIPGREP is set")
		}
	}
	return rg
}

// rgLines returns the numbers of the lines of a file that ripgrep finds. It returns
// false if ripgrep fails.
func rgLines(t *testing.T, rg, file, pattern string, args ...string) (string, bool) {
	t.Helper()
	args = append([]string{"--no-config", "-a", "-n", "-o", "--replace", ""}, append(args, "-e", pattern, file)...)
	out, err := exec.Command(rg, args...).Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 1 {
			return "", false
		}
	}
	return numbers(strings.Split(string(out), "\n")), true
}

// numbers joins the texts before the colons, without duplicates.
func numbers(lines []string) string {
	var out []string
	for _, l := range lines {
		if n, _, ok := strings.Cut(l, ":"); ok && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, " ")
}

// found returns the numbers of the lines that a pattern matches.
func found(t *testing.T, lines []string, pattern string, o Options) (string, error) {
	t.Helper()
	p, err := Parse(pattern, o)
	if err != nil {
		return "", err
	}
	re, err := regexp.Compile(p.String())
	if err != nil {
		t.Fatalf("%q was read, but: %v", pattern, err)
	}
	must := Required(p.Tree)
	var out []string
	for i, l := range lines {
		if hasBoundary(p.Tree) && strings.IndexFunc(l, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
			continue // package regexp cannot decide
		}
		if re.MatchString(l) {
			out = append(out, fmt.Sprint(i+1))
			if !satisfied(must, l) {
				t.Errorf("%q matches %q, which has not %v", pattern, l, must)
			}
		}
	}
	return strings.Join(out, " "), nil
}

// satisfied reports whether a text contains a literal of every clause.
func satisfied(must Literals, text string) bool {
	for _, c := range must {
		if !slices.ContainsFunc(c, func(l Literal) bool {
			if !l.Fold {
				return strings.Contains(text, l.Text)
			}
			return strings.Contains(foldText(text), foldText(l.Text))
		}) {
			return false
		}
	}
	return true
}

// foldText replaces every rune by the smallest of its orbit.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// sample is the file of TestMeaning. Its line 30 ends with CR LF.
var sample = []string{
	"", "foo", "Foo bar", "FOO_BAR", "interface{}", "foo{", "a{,3}", "aaa", "a.b*c", "\tx = y[0];", // 1-10
	"é", "größe", "\u212A", "\u017F", "٣", "日本", "a\u2028b", "😀", "αβγ", "Ж", // 11-20
	"-v --flag", "a-b", "]", "[x]", "^caret", "a\\b", "foobar", "barfoo foo", "x\u00a0y", "dos\r", // 21-30
	"A", "<foo>", "b", "e", "#c d", "&", "~", "a\rb", "\"q\"", "a b", // 31-40
}

// beyondASCII lists the lines of sample on which package regexp cannot decide word
// boundaries.
var beyondASCII = strings.Fields("11 12 13 14 15 16 17 18 19 20 29")

// TestMeaning checks which lines patterns match, and compares with ripgrep. The results
// must be the same, except for patterns marked as ours.
func TestMeaning(t *testing.T) {
	cases := []struct {
		pattern string
		fold    bool
		want    string
		ours    bool // ripgrep rejects it, or does not see a line end in CR LF
	}{
		{`foo`, false, "2 6 27 28 32", false},
		{`foo`, true, "2 3 4 6 27 28 32", false},
		{`^foo$`, false, "2", false},
		{`^\w$`, false, "11 13 14 15 20 31 33 34", false},
		{`^(?-u:\w)$`, false, "31 33 34", false},
		{`^\d$`, false, "15", false},
		{`\d`, false, "7 10 15", false},
		{`x\sy`, false, "29", false},
		{`a\sb`, false, "17 38 40", false},
		{`^k$`, true, "13", false},
		{`^s$`, true, "14", false},
		{`^[k]$`, true, "13", false},
		{`^[^k]$`, true, "11 14 15 18 20 23 31 33 34 36 37", false},
		{`(?i)^a$`, false, "31", false},
		{`^(?i:A)$`, false, "31", false},
		{`(?i)foo(?-i)bar`, false, "27", false},
		{`dos$`, false, "30", true},
		{`^dos\r$`, false, "30", false},
		{`interface\{\}`, false, "5", false},
		{`interface{}`, false, "5", true},
		{`foo{`, false, "6", true},
		{`^{`, false, "", true},
		{`{}`, false, "5", true},
		{`^a{,3}$`, false, "1 8", true},
		{`^a{0,3}$`, false, "1 8", false},
		{`^a{3}$`, false, "8", false},
		{`^a{ 3 }$`, false, "8", false},
		{`^a{2,}$`, false, "8", false},
		{`^a{2}{1,2}$`, false, "", false},
		{`^a**$`, false, "1 8", false},
		{`^a{1001}`, false, "", false},
		{`^.{0,2000}b\*`, false, "9", false},
		{`\Qa.b*c\E`, false, "9", true},
		{`\Qa.b`, false, "9", true},
		{`\Qa.b\E\*`, false, "9", true},
		{`a\.b`, false, "9", false},
		{`[a-z&&[^aeiou]]{3}`, false, "", false},
		{`^[a-z&&[^aeiou]]$`, false, "33", false},
		{`^[a-z--b]$`, false, "34", false},
		{`^[\w--\d]$`, false, "11 13 14 20 31 33 34", false},
		{`^[a-c~~b-e]$`, false, "34", false},
		{`^[a[eb]]$`, false, "33 34", false},
		{`^[a-z&&b--b]$`, false, "", false},
		{`^[]a]$`, false, "23", false},
		{`^[^]a]$`, false, "11 13 14 15 18 20 31 33 34 36 37", false},
		{`[-a]b`, false, "22", false},
		{`a[-a]b`, false, "22", false},
		{`a[a-]b`, false, "22", false},
		{`a[\w-.]b`, false, "9 22", true},
		{`a[+--]b`, false, "", false},
		{`^[&]$`, false, "36", false},
		{`^[~]$`, false, "37", false},
		{`^[[:upper:]]$`, false, "31", false},
		{`^[[:^upper:]]$`, false, "11 13 14 15 18 20 23 33 34 36 37", false},
		{`^[[:upper:]]$`, true, "13 14 31 33 34", false},
		{`\p{Greek}`, false, "19", false},
		{`\p{Script=Cyrillic}|\p{sc=Grek}`, false, "19 20", false},
		{`\p{Emoji}`, false, "7 9 10 18 35", false},
		{`\p{Emoji_Presentation}`, false, "18", false},
		{`\p{Lu}`, false, "3 4 13 20 31", false},
		{`^\pL$`, false, "11 13 14 20 31 33 34", false},
		{`^\PL$`, false, "15 18 23 36 37", false},
		{`^\P{L}$`, false, "15 18 23 36 37", false},
		{`^\p{gc=Uppercase_Letter}$`, false, "13 20 31", false},
		{`^\p{alpha}$`, false, "11 13 14 20 31 33 34", false},
		{`^\p{gc!=Lu}$`, false, "11 14 15 18 23 33 34 36 37", true},
		{`^\p{Lu}$`, true, "11 13 14 20 31 33 34", false},
		{`\p{any}{10}`, false, "5 10 28", false},
		{`^\p{ascii}$`, false, "23 31 33 34 36 37", false},
		{`\<foo\>`, false, "2 6 28 32", false},
		{`\b{start}foo\b{end}`, false, "2 6 28 32", false},
		{`\<foo`, false, "2 6 27 28 32", false},
		{`foo\>`, false, "2 6 28 32", false},
		{`\<\w+\>$`, false, "2 3 4 8 9 21 22 25 26 27 28 30 31 33 34 35 38 40", true},
		{`o\b{end-half}`, false, "2 3 6 28 32", false},
		{`\b{start-half}f`, false, "2 6 21 27 28 32", false},
		{`.\b{start-half}\{`, false, "", false},
		{`.\b{start-half}\S`, false, "3 5 7 9 10 21 22 24 25 26 28 32 35 38 39 40", false},
		{`\bbar`, false, "3 28", false},
		{`\bfoo\b`, false, "2 6 28 32", false},
		{`o\Bo`, false, "2 3 6 27 28 32", false},
		{`(?x) f o o # comment`, false, "2 6 27 28 32", true},
		{`(?x)c\ d`, false, "35", false},
		{`(?x)^[ a b ]$`, false, "33", false},
		{`\u0041|\u{62}\z`, false, "", true},
		{`^\u0041$`, false, "31", false},
		{`^\u{41}$`, false, "31", false},
		{`^\U00000041$`, false, "31", false},
		{`^\x{41}$`, false, "31", false},
		{`^\x41$`, false, "31", false},
		{`\t`, false, "10", false},
		{`\x00|\0`, false, "", true},
		{`--flag`, false, "21", false},
		{`-v`, false, "21", false},
		{``, false, "", true},
		{`foo|`, false, "", true},
		{`(?P<n>fo)(?<m>o)b`, false, "27", false},
		{`(?U)^a+$`, false, "8", false},
		{`a.b`, false, "9 17 22 26 38 40", false},
		{`a[^x]b`, false, "9 17 22 26 38 40", false},
		{`(?R)a.b`, false, "9 17 22 26 40", false},
		{`foo\n?b`, false, "27", true},
		{`foo\n|A$`, false, "31", true},
		{`\]|\[|\^|\-\-|\"|\#|\~|\&`, false, "", true},
		{`\"q\"|\#c`, false, "35 39", false},
		{`}`, false, "5 7", false},
		{`()`, false, "", true},
		{`(|a)b|^b`, false, "", true},
		{`[a&&b]`, false, "", false},
		{`(?s)a.b`, false, "9 17 22 26 38 40", false},
	}
	file := filepath.Join(t.TempDir(), "sample")
	if err := os.WriteFile(file, []byte(strings.Join(sample, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		got, err := found(t, sample, tc.pattern, Options{Fold: tc.fold})
		if err != nil {
			t.Errorf("%q: %v", tc.pattern, err)
		}
		// An empty want of ours only checks that the pattern is accepted.
		if got != tc.want && (!tc.ours || tc.want != "") {
			t.Errorf("%q matches lines %q, want %q", tc.pattern, got, tc.want)
		}
	}
	rg := ripgrep(t)
	for _, tc := range cases {
		if tc.ours {
			continue
		}
		args := []string{"-s"}
		if tc.fold {
			args = []string{"-i"}
		}
		got, ok := rgLines(t, rg, file, tc.pattern, args...)
		if p, err := Parse(tc.pattern, Options{}); err == nil && hasBoundary(p.Tree) {
			got = strings.Join(slices.DeleteFunc(strings.Fields(got), func(n string) bool { return slices.Contains(beyondASCII, n) }), " ")
		}
		if !ok || got != tc.want {
			t.Errorf("%q: ripgrep matches lines %q, %v, want %q", tc.pattern, got, ok, tc.want)
		}
	}
}

func TestMultiline(t *testing.T) {
	for _, tc := range []struct {
		pattern, text, want string
	}{
		{`a.b`, "a\nb", "a\nb"},
		{`a\nb`, "a\nb", "a\nb"},
		{`a\sb`, "a\nb", "a\nb"},
		{`a[^x]b`, "a\nb", "a\nb"},
		{`a\Wb`, "a\nb", "a\nb"},
		{`(?-s)a.b`, "a\nb a b", "a b"},
		{`^b$`, "a\nb\nc", "b"},
		{`a$\s+^b`, "a\r\nb", "a\r\nb"},
		{`\Ab`, "a\nb", ""},
		{`b\z`, "b\nb", "b"},
	} {
		p, err := Parse(tc.pattern, Options{Multiline: true})
		if err != nil {
			t.Fatal(err)
		}
		re, err := regexp.Compile(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := re.FindString(tc.text); got != tc.want {
			t.Errorf("%q in %q: %q, want %q", tc.pattern, tc.text, got, tc.want)
		}
		if must := Required(p.Tree); tc.want != "" && !satisfied(must, tc.text) {
			t.Errorf("%q: %q has not %v", tc.pattern, tc.text, must)
		}
	}
}

// TestProperties compares with ripgrep for every rune that package unicode knows. Runes
// of later versions of Unicode may differ.
func TestProperties(t *testing.T) {
	rg := ripgrep(t)
	var text strings.Builder
	var runes []rune
	known := assigned()
	for i := 0; i < len(known); i += 2 {
		for r := known[i]; r <= known[i+1]; r++ {
			if r != '\n' && !unicode.In(r, unicode.Co, unicode.Cs) {
				runes = append(runes, r)
				text.WriteString(string(r) + "\n")
			}
		}
	}
	file := filepath.Join(t.TempDir(), "runes")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`\w`, `\d`, `\s`, `\p{Emoji}`, `\p{Emoji_Component}`, `\p{ExtPict}`, `\p{Alphabetic}`, `\p{Lowercase}`, `\p{Upper}`, `\p{LC}`, `\p{S}`, `\p{P}`, `\p{C}`, `\p{Han}`, `\p{Latn}`, `\p{XIDC}`, `\p{XIDS}`, `\p{Math}`, `(?i)\p{Lu}`, `(?i)[a-z]`, `(?i)[^a-z]`} {
		p, err := Parse("^"+pattern+"$", Options{})
		if err != nil {
			t.Fatal(err)
		}
		re, err := regexp.Compile(p.String())
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(rg, "--no-config", "-a", "-N", "-e", "^"+pattern+"$", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := map[rune]bool{}
		for _, r := range string(out) {
			want[r] = true
		}
		wrong := 0
		for _, r := range runes {
			if r != '\r' && re.MatchString(string(r)) != want[r] {
				if wrong++; wrong < 5 {
					t.Logf("%s: %U here %v", pattern, r, !want[r])
				}
			}
		}
		// Unicode 16 and 17 changed properties of a few runes.
		if wrong > 60 {
			t.Errorf("%s differs for %d runes", pattern, wrong)
		}
	}
}

// TestRandomAgainstRipgrep compares lines found by random patterns.
func TestRandomAgainstRipgrep(t *testing.T) {
	rg := ripgrep(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	file := filepath.Join(t.TempDir(), "text")
	refused := 0
	for range randomPatterns {
		pattern := randomPattern(rnd, 3)
		var lines []string
		for range 30 {
			lines = append(lines, randomText(rnd))
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{Fold: rnd.IntN(3) == 0}
		args := []string{"-s"}
		if o.Fold {
			args = []string{"-i"}
		}
		p, err := Parse(pattern, o)
		if err != nil {
			refused++ // mostly half boundaries without a text beside them
			continue
		}
		if hasBoundary(p.Tree) {
			// package regexp is correct on ASCII only.
			for i := range lines {
				lines[i] = strings.Map(func(r rune) rune {
					if r > 0x7f {
						return 'z'
					}
					return r
				}, lines[i])
			}
			if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := found(t, lines, pattern, o)
		want, ok := rgLines(t, rg, file, pattern, args...)
		if !ok {
			t.Errorf("%q: ripgrep refuses it", pattern)
			continue
		}
		if got != want {
			t.Errorf("%q fold %v: lines %q, ripgrep %q, of %q", pattern, o.Fold, got, want, lines)
		}
	}
	if refused > randomPatterns/3 {
		t.Errorf("%d of %d patterns were refused", refused, randomPatterns)
	}
}

const alphabet = "abkK_ -1é\u212A"

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	runes := []rune(alphabet)
	for range rnd.IntN(9) {
		b.WriteRune(runes[rnd.IntN(len(runes))])
	}
	return b.String()
}

// randomPattern returns a pattern that both engines accept.
func randomPattern(rnd *rand.Rand, depth int) string {
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	if depth == 0 {
		return pick(`a`, `b`, `k`, `K`, `ab`, `_`, `1`, `é`, `-`, ` `, `.`, `\w`, `\W`, `\d`, `\s`, `\S`, `[ab]`, `[^a]`, `[a-k&&[^b]]`,
			`[\w--\d]`, `[k1~~ka]`, `[[:alpha:]]`, `\p{Lu}`, `\u006b`, `(?i:k)`, `(?-i:K)`, `(?-u:\w)`)
	}
	sub := func() string { return randomPattern(rnd, depth-1) }
	switch rnd.IntN(12) {
	case 0, 1, 2:
		return sub() + sub()
	case 3:
		return sub() + "|" + sub()
	case 4:
		return "(" + sub() + "|" + sub() + ")" + sub()
	case 5:
		return "(?:" + sub() + ")" + pick("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "**")
	case 6:
		return "^" + sub()
	case 7:
		return sub() + "$"
	case 8:
		return "(?:" + sub() + ")" + pick(`\b`, `\B`, `\b{start-half}`, `\b{end-half}`) + "(?:" + sub() + ")"
	case 9:
		return pick(`\b`, `\<`, `\b{start-half}`) + "(?:" + sub() + ")"
	case 10:
		return "(?:" + sub() + ")" + pick(`\b`, `\>`, `\b{end-half}`)
	}
	return sub()
}

// FuzzParse checks that any input is accepted or rejected, and that package regexp
// accepts the result.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`a(b|c)*[d-f]+\w{2,3}?$`, `(?i)[[:alpha:]--k]\p{Greek}`, `\<a+\>`, `(?x) a # b`, `\Qa\E{,3}`, `a|ab|abc|abcd`, `.{0,2000}x`, `((a{10}){10}){10}`, `(?:a{0,200}){0,50}`} {
		f.Add(s, false, false)
		f.Add(s, true, true)
	}
	f.Fuzz(func(t *testing.T, src string, fold, multiline bool) {
		p, err := Parse(src, Options{fold, multiline})
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Offset > len(src) || e.Fact == "" {
				t.Fatalf("%q: %#v", src, err)
			}
			return
		}
		if _, err := regexp.Compile(p.String()); err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if !multiline {
			if re := regexp.MustCompile(p.String()); strings.Contains(re.FindString("a\nb\n \n"), "\n") {
				t.Errorf("%q matches a newline", src)
			}
		}
		Required(p.Tree)
	})
}

func TestString(t *testing.T) {
	got := map[string]string{}
	for _, src := range []string{`a{3}`, `(?i)k1`, `[Kk\x{212A}]`, `(foo)(bar)`, `\s`, `a$`} {
		p, err := Parse(src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got[src] = p.String()
	}
	want := map[string]string{`a{3}`: `aaa`, `(?i)k1`: `(?i:k1)`, `[Kk\x{212A}]`: `(?i:K)`, `(foo)(bar)`: `foobar`,
		`\s`: `[\x{9}-\x{9}\x{b}-\x{d}\x{20}-\x{20}\x{85}-\x{85}\x{a0}-\x{a0}\x{1680}-\x{1680}\x{2000}-\x{200a}\x{2028}-\x{2029}\x{202f}-\x{202f}\x{205f}-\x{205f}\x{3000}-\x{3000}]`, `a$`: `a(?m:\r??$)`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// hasBoundary reports whether a tree has \b or \B, which are ASCII in package regexp.
func hasBoundary(re *syntax.Regexp) bool {
	return re.Op == syntax.OpWordBoundary || re.Op == syntax.OpNoWordBoundary || slices.ContainsFunc(re.Sub, hasBoundary)
}
