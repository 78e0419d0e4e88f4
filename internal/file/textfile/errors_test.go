package textfile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/text/fault"
)

var update = flag.Bool("update", false, "rewrite the wanted errors")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// code is the file in which the edits miss.
const code = "package a\n\nfunc f(x int) {\n\tif x > 0 {\n\t\treturn “Hello World”  \n\t}\n\n\n" +
	"\tlog(\"a\\n\") // it’s – caf\u00e9\n}\n\u00a0end &amp; more\nzero\u200bwidth\n\x1b[31m red\n"

// TestEditErrors covers every text of an edit's errors.
func TestEditErrors(t *testing.T) {
	var lines strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&lines, "line number %d\n", i)
	}
	hundred := lines.String()
	long := strings.Repeat("var a=1;", 5000) + "function needle(){}" + strings.Repeat("var b=2;", 5000)
	var out strings.Builder
	for _, tc := range []struct{ file, old, new string }{
		{code, "FUNC F(x int)", ""},
		{code, "    if x > 0 {\n        return", ""},
		{code, "  if x > 0 {\n\t\treturn", ""},
		{" a b\n", "\ta b", ""},
		{code, "return \"Hello World\"  \n", ""},
		{code, "return “Hello World”\n\t}", ""},
		{code, "\t}\n\n\tlog", ""},
		{code, "it's", ""},
		{code, "it’s - caf", ""},
		{code, "it's - Caf", ""},
		{code, "cafe\u0301", ""},
		{code, "cafe", ""},
		{code, "if x > 0 { return", ""},
		{code, "x>0", ""},
		{"a  \nfoo\n  b\n", "\nFoo\n", ""},
		{"a\n  foo  \nb\n", "a\n\n  foo\n\n\nb", ""},
		{code, "  end", ""},
		{code, " end", ""},
		{code, "zerowidth", ""},
		{code, "zero\u200bwid\u00adth", ""},
		{code, "Red", ""},
		{code + "\r", "package a\r\n", ""},
		{"a\rb\n", "a\nb", ""},
		{"a\nb\n", "a\rb", ""},
		{"a\r\r\nb\r\r\n", "a\r\nb", ""},
		{"a\r\nb\nc\n", "a\nb\r\nc", ""},
		{code, "log(\"a\n\")", ""},
		{code, "log(\\\"a", ""},
		{"x := \"a\\tb\"", "x := \\\"a\\\\tb\\\"", ""},
		{`x := "a\"b\""`, `a"b"`, ""},
		{code, "     4\tif x > 0 {\n     5\t\t\treturn", ""},
		{code, "if x > 0 {\n     5\t\t\treturn", ""},
		{code, "& more", ""},
		{"a<b", "a&lt;b", ""},
		{"a &quot;b&quot;", "a \"b\"", ""},
		{"it&#39;s", "it's", ""},
		{code, "func g(x int) {\n\tif x > 1 {\n\t\treturn “Hello World”  \n\t}\n", ""},
		{code, "fnuc f(x int) {", ""},
		{code, "func f(x int) {\n\tif x > 0 {\n\t\tthrow error\n\t}\n", ""},
		{long, "function  needle(){}", ""},
		{long, "function neddle(){}", ""},
		{hundred, strings.ReplaceAll(hundred[100:1000], "number 50", "nubmer 50"), ""},
		{hundred, strings.ReplaceAll(hundred[100:1000], "number 50", "Number 50"), ""},
		{hundred, strings.ReplaceAll(hundred[:1000], "number 30\n", ""), ""},
		{strings.Repeat(hundred, 60), strings.ToUpper(strings.Repeat(hundred, 50)), ""},
		{code, "nothing like it at all", ""},
		{code, "zz", ""},
		{code, "   \t  ", ""},
		{"", "a", ""},
		{"a\nb", "b\n", ""},
		{"a\nb c", "a\nb c\n", ""},
		{code, "re", ""},
		{"a a\n", "a", ""},
		{"aaa\n", "aa", ""},
		{"a\n-\na\nb\na\n-\na\n", "a\n-\na\n", ""},
		{"a\r\na\r\n", "a\n", ""},
		{hundred, "line", ""},
		{strings.Repeat("a ", 20), "a ", ""},
		{code, "a", "a"},
		{"a\r\nb", "a\n", "a\r\n"},
		{"", "", ""},
		{code, "", "a"},
		{code, "\xff", "a"},
		{code, "a", "\xff"},
	} {
		fmt.Fprintf(&out, "=== %s\n", short(tc.old, tc.new))
		text, err := Decode([]byte(tc.file))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = text.Apply(Edit{Old: tc.old, New: tc.new})
		var f *fault.Fault
		if !errors.As(err, &f) || f.Error() != err.Error() {
			t.Errorf("%.40q: %v is no fault", tc.old, err)
		}
		fmt.Fprintf(&out, "a.go %v\n", err)
	}
	many, err := Decode([]byte(strings.Repeat("a", mostReplacements+1)))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = many.Apply(Edit{Old: "a", All: true})
	fmt.Fprintf(&out, "=== too many\na.go %v\n", err)
	golden(t, "edit_errors.txt", out.String())
}

func short(old, text string) string {
	if len(old) > 60 {
		old = old[:30] + "..." + old[len(old)-20:]
	}
	return fmt.Sprintf("%+q -> %+q", old, text)
}

// TestDecodeErrors covers every text about files that cannot be edited.
func TestDecodeErrors(t *testing.T) {
	var out strings.Builder
	for _, tc := range []struct{ name, data string }{
		{"Latin-1", "caf\xe9 na\xefve\n"},
		{"Windows-1252", "\x93q\x94 it\x92s don\x92t\n"},
		{"Windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0!"},
		{"KOI8-R", "\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2!"},
		{"another alphabet", "\xc1\xe2 \xc3\xe4 \xc5\xe6 \xe7\xc8"},
		{"Shift JIS", "\x93\xfa\x96{\x8c\xea\x82\xcc\n"},
		{"EUC-JP", "\xc6\xfc\xcb\xdc\xb8\xec\xa4\xce\xa4\xb3\n"},
		{"EUC-KR", "\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4\n"},
		{"Big5", "\xa4\xa4\xa4\xe5\xba\xf4\xad\xb6\xa6\x72\n"},
		{"GB18030", "\xd6\xd0\xce\xc4\xd7\xd6\n"},
		{"Chinese far inside", strings.Repeat("a\n", 100_000) + "\xd6\xd0\xce\xc4"},
		{"UTF-8 with a damaged byte", "a\né \xff\n"},
		{"UTF-8 cut off", "abc\xe2\x82"},
		{"UTF-16 without a mark", "h\x00e\x00l\x00l\x00o\x00\n\x00"},
		{"UTF-16, big endian", "\x00h\x00e\x00l\x00l\x00o\x00\n"},
		{"UTF-16 cut off", "\xff\xfea\x00b"},
		{"UTF-32 with a mark", "\xff\xfe\x00\x00a\x00\x00\x00"},
		{"UTF-32", "a\x00\x00\x00b\x00\x00\x00"},
		{"UTF-32, big endian", "\x00\x00\x00a\x00\x00\x00b"},
		{"NUL in UTF-16", "\xff\xfea\x00\x00\x00b\x00"},
		{"NUL", "text\x00and more"},
		{"PNG", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
		{"control characters", "\x01\x02\x03\x04\xff"},
	} {
		_, err := Decode([]byte(tc.data))
		var f *fault.Fault
		if !errors.As(err, &f) {
			t.Errorf("%s: %v is no fault", tc.name, err)
		}
		fmt.Fprintf(&out, "=== %s\na.txt %v\n", tc.name, err)
	}
	golden(t, "decode_errors.txt", out.String())
}

func TestMissFields(t *testing.T) {
	text, err := Decode([]byte(code))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = text.Apply(Edit{Old: "if X > 0 {\n", New: "a"})
	var m *NoMatch
	if !errors.As(err, &m) || m.First != 4 || m.Last != 4 || m.Excerpt != "4\t→if x > 0 {" {
		t.Errorf("%#v", err)
	}
	_, _, err = text.Apply(Edit{Old: "{", New: "a"})
	var a *Ambiguous
	if !errors.As(err, &a) || a.Count != 2 || !cmp.Equal(a.Lines, []int{3, 4}) {
		t.Errorf("%#v", err)
	}
}
