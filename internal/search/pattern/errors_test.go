package pattern

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

// TestErrors checks the text of every error.
func TestErrors(t *testing.T) {
	var out strings.Builder
	for _, src := range []string{
		// Not possible for an automaton.
		`foo(?=bar)`, `foo(?!bar)`, `(?<=foo)bar`, `(?<!foo)bar`, `(a)\1`, `(?P<n>a)(?P=n)`, `\k<n>`, `(?>a)`, `a++b`, `a{2}+`,
		`(?P>n)`, `(?&n)`, `(?1)`, `(?+1)`, `(?(1)a|b)`, `(?|a)`, `(?#note)`, `(?'n'a)`, `(*UTF8)a`,
		// Groups.
		`foo(bar`, `foo(`, `foo)`, `(?`, `(?i`, `(?q)`, `(?)`, `(?-)`, `(?i--s)`, `(?P<1>a)`, `(?<n`, `(?P<>a)`, `(?:a`,
		// Repeats.
		`*foo`, `+`, `?`, `a|*`, `(*)`, `(?i)*`, `{3}`, `a{3,1}`, `a{99999999999999999999}`, `a{1000000}`, `((a{100}){100}){100}`, `(\w{1000}){9}`, `\b{start}*a`,
		strings.Repeat("(", maxDepth+1), strings.Repeat("[", maxDepth+1), "a" + strings.Repeat("*", 4000),
		// Classes.
		`[`, `[]`, `[^]`, `[a`, `[[]`, `[a-`, `[z-a]`, `[a-\d]`, `[[:alhpa:]]`, `[[:x:]]`, `[\b]`, `[a&&`, "[\\x20-\n]",
		// Escapes.
		`foo\`, `[\`, `\y`, `\Z`, `\G`, `\K`, `\R`, `\X`, `\C`, `\N`, `\h`, `\e`, `\cA`, `\E`, `\g{1}`, `\q`, `\i`,
		`\x`, `\x4`, `\xzz`, `\x{`, `\x{}`, `\x{110000}`, `\uD800`, `\u12`, `\U0000004`, `(?-u)\xff`, `\b{foo}`,
		`\p`, `\p{`, `\p{Grek1}`, `\p{Greeek}`, `\p{Script=Lattin}`, `\p{Age=6.0}`, `\pQ`, `\p{xyzzyqwerty}`,
		// Half boundaries without a text beside them.
		`\<`, `(^|\<)foo`, `a*\>`,
		// Newlines.
		`foo\nbar`, "foo\nbar", `[\n]`, `a\x0Ab|c\n`, `\n`,
		"a\xffb", strings.Repeat("a", maxPattern+1),
	} {
		_, err := Parse(src, Options{})
		if err == nil {
			t.Errorf("%.50q has no error", src)
			continue
		}
		var e *Error
		var f *fault.Fault
		if !errors.As(err, &e) || !errors.As(err, &f) || e.Offset < 0 || e.Offset > len(src) || f.Next == "" {
			t.Errorf("%.50q: %#v", src, err)
			continue
		}
		fmt.Fprintf(&out, "=== %.50q %d\n%v\n", src, e.Offset, err)
	}
	file := filepath.Join("testdata", "errors.txt")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), out.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
