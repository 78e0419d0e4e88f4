package terminal

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// shown returns the screen of a small terminal, the cursor, and the answers to queries.
func shown(output string) string {
	var answers []byte
	e := NewEmulator(10, 4, func(p []byte) { answers = append(answers, p...) })
	for i := range len(output) { // characters arrive in parts
		_, _ = e.Write([]byte(output[i : i+1]))
	}
	text, row, col, ok := e.Text()
	if !ok {
		return "broken"
	}
	s := fmt.Sprintf("%s @%d,%d", strings.ReplaceAll(text, "\n", "/"), row, col)
	if len(answers) > 0 {
		s += fmt.Sprintf(" %q", answers)
	}
	return s
}

// TestEmulator has the effects that the manual "XTerm Control Sequences" describes.
func TestEmulator(t *testing.T) {
	for _, one := range []struct{ output, want string }{
		{"ab\r\ncd", "ab/cd @2,3"},
		{"ab\ncd", "ab/  cd @2,5"},
		{"0123456789", "0123456789 @1,10"},
		{"0123456789a", "0123456789/a @2,2"},
		{"0123456789\r\na", "0123456789/a @2,2"},
		{"\x1b[?7l0123456789ab", "012345678b @1,10"},
		{"1\r\n2\r\n3\r\n4\r\n5", "2/3/4/5 @4,2"},
		{"a\tb\x1b[Zc\x1b[2Id", "a       c d"[:9] + "d @1,10"},
		{"ab\b\bc", "cb @1,2"},
		{"\x1b[3;5Hx\x1b[Ay\x1b[2Dz\x1b[Bw\x1b[Cv", "/    zy/    xw v @3,9"},
		{"abc\x1b[99999999999999999999D\x1b[2Cx", "abx @1,4"},
		{"abcdef\x1b[3G\x1b[K", "ab @1,3"},
		{"abcdef\x1b[3G\x1b[1K", "   def @1,3"},
		{"a\r\nb\r\nc\x1b[2;1H\x1b[J", "a @2,1"},
		{"a\r\nb\r\nc\x1b[2;1H\x1b[1J", "//c @2,1"},
		{"a\r\nb\x1b[2J", " @2,2"},
		{"abcdef\x1b[2G\x1b[2@x", "ax bcdef @1,3"},
		{"abcdef\x1b[2G\x1b[2P", "adef @1,2"},
		{"abcdef\x1b[2G\x1b[2X", "a  def @1,2"},
		{"abcdef\x1b[2G\x1b[4hxy\x1b[4lz", "axyzcdef @1,5"},
		{"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nx\x1b[r", "a/c/x/d @1,1"},
		{"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bMx", "a/x/b/d @2,2"},
		{"a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[L", "a//b/c @2,1"},
		{"a\r\nb\r\nc\r\nd\x1b[2;1H\x1b[2M", "a/d @2,1"},
		{"a\r\nb\r\nc\r\nd\x1b[S", "b/c/d @4,2"},
		{"a\r\nb\r\nc\r\nd\x1b[2T", "//a/b @4,2"},
		{"a\x1b[5b", "aaaaaa @1,7"},
		{"ab\x1b7\r\nc\x1b8d", "abd/c @1,4"},
		{"ab\x1b[?1049hcd\x1b[?1049le", "abe @1,4"},
		{"ab\x1b[?1049h\x1b[Hcd", "cd @1,3"},
		{"\x1b(0lqk\x1b(Bq\x0e\x1b)0x\x0f", "┌─┐q│ @1,6"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bPq#0;1\x1b\\c", "abc @1,4"},
		{"\x1b[31;1mred\x1b[38;2;1;2;3m\x1b[>4;2m\x1b[?1u\x1b[=1;1u\x1b[2 q\x1b[?2004h", "red @1,4"},
		{"漢字a\r漢b", "漢b a @1,4"},
		{"12345678 漢", "12345678/漢 @2,3"},
		{"漢\x1b[2Gx", " x @1,3"},
		{"e\u0301a\u200b\u2028b", "eab @1,4"},
		{"a\xffb\xe6\xbc", "a\ufffdb @1,4"},
		{"\x1b[2;2H\x1b[6n\x1b[5n\x1b[c\x1b[>c", ` @2,2 "\x1b[2;2R\x1b[0n\x1b[?6c\x1b[>0;10;0c"`},
		{"\x1b[2;3r\x1b[?6hx\x1b[9;1Hy\x1b[6n", `/x/y @3,2 "\x1b[2;2R"`},
		{"ab\x1bcc", "c @1,2"},
		{"\x1b[5\x18a", "a @1,2"},
		{"\u202eab", "ab @1,3"},
	} {
		if got := shown(one.output); got != one.want {
			t.Errorf("%q\n got %q\nwant %q", one.output, got, one.want)
		}
	}
}

func TestKeys(t *testing.T) {
	e := NewEmulator(10, 4, nil)
	for name, want := range map[string]string{
		"enter": "\r", "up": "\x1b[A", "home": "\x1b[H", "f1": "\x1bOP", "f12": "\x1b[24~", "ctrl-c": "\x03", "ctrl-z": "\x1a", "alt-x": "\x1bx", "alt--": "\x1b-",
		"alt-": "", "alt-xy": "", "alt-\x1b": "", "x": "", "Enter": "", "": "",
	} {
		if got := e.Key(name); got != want || IsKey(name) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, IsKey(name))
		}
	}
	_, _ = e.Write([]byte("\x1b[?1h"))
	if got := e.Key("up") + e.Key("end") + e.Key("delete"); got != "\x1bOA\x1bOF\x1b[3~" {
		t.Errorf("%q", got)
	}
	names := KeyNames()
	slices.Sort(names)
	if len(names) != 54 || names[0] != "backspace" {
		t.Error(len(names), names)
	}
}

// fragments are parts of sequences, to make random output of.
var fragments = strings.Fields("\x1b[ \x1b[? \x1b] \x1bP \x1b \x1b(0 ; 0 1 2 3 4 6 9 25 99999999999999999999 ? > ! $ @ A B C D E F G H I J K L M P S T X Z ` a b c d e f h l m n p q r s u \x1b7 \x1b8 \x1bD \x1bE \x1bM \x1bc 47 1049 a 漢 e\u0301 👨‍👩‍👧 \xff \xe6 ~ \x07 \x1b\\ \b \t \r \v \x0e \x0f \x18")

// check writes output to terminals of several sizes, and checks that they stay of that size.
func check(t *testing.T, output string) {
	t.Helper()
	for _, size := range [][2]int{{1, 1}, {2, 2}, {10, 4}, {80, 24}} {
		n := 0
		e := NewEmulator(size[0], size[1], func(p []byte) { n += len(p) })
		_, _ = e.Write([]byte(output))
		text, row, col, ok := e.Text()
		if !ok || row < 1 || row > size[1] || col < 1 || col > size[0] || strings.Count(text, "\n") >= size[1] || n > 20*len(output) {
			t.Fatalf("%v: %q: %v %d,%d %q", size, output, ok, row, col, text)
		}
		for _, lines := range [][][]rune{e.lines, e.other} {
			for _, line := range lines {
				if len(line) != size[0] || cap(line) > 2*size[0] || len(lines) != size[1] {
					t.Fatalf("%v: %q: %d columns", size, output, len(line))
				}
				for x, r := range line {
					if r == half && (x == 0 || !isWide(line[x-1])) {
						t.Fatalf("%v: %q: half a character in %q", size, output, string(line))
					}
				}
			}
		}
		if len(e.part) > 3 || len(e.params) > maxParams {
			t.Fatalf("%v: %q: %d %d", size, output, len(e.part), len(e.params))
		}
	}
}

func TestEmulatorRandom(t *testing.T) {
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		var b strings.Builder
		for range 100 {
			b.WriteString(fragments[r.Intn(len(fragments))])
		}
		check(t, b.String())
	}
}

func FuzzEmulator(f *testing.F) {
	f.Add("a\x1b[2;3r\x1b[9b漢\x1b[4h\x1b[P")
	f.Fuzz(check)
}
