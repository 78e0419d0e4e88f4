package pattern

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show formats clauses as a|b & c, with a slash after folded literals.
func show(must Literals) string {
	var clauses []string
	for _, c := range must {
		var texts []string
		for _, l := range c {
			if l.Fold {
				l.Text += "/"
			}
			texts = append(texts, l.Text)
		}
		clauses = append(clauses, strings.Join(texts, "|"))
	}
	return strings.Join(clauses, " & ")
}

func TestRequired(t *testing.T) {
	for _, tc := range []struct{ pattern, want string }{
		{`foo`, `foo`},
		{`^int \w+_probe\(struct pci_dev`, `_probe(struct pci_dev & int `},
		{`kmalloc\(.*GFP_ATOMIC`, `GFP_ATOMIC & kmalloc(`},
		{`(foo|bar)baz`, `foobaz|barbaz`},
		{`foo|bar|.*qux`, `foo|bar|qux`},
		{`foo|bar|.*`, ``},
		{`.*foo.*|.*bar.*`, `foo|bar`},
		{`[A-Z]+_RESUME`, `_RESUME`},
		{`(?i)foo`, `foo/`},
		{`(?i)foo1(?-i)bar`, `foo1bar/`},
		{`[Ff]oo`, `Foo|foo`},
		{`a+b`, `ab`},
		{`ab*c`, `a & c`},
		{`ab?c`, `abc|ac`},
		{`(abc)+`, `abc`},
		{`(abc){3}`, `abcabcabc`},
		{`(abc)*`, ``},
		{`x(foo.*|bar)y`, `xfoo|xbar & y`},
		{`\w+`, ``},
		{`.`, ``},
		{``, ``},
		{`^$`, ``},
		{`\bfoo\b.bar`, `foo & bar`},
		{`foo$`, `foo`},
		{`[abc][abc][abc]x`, `ax|bx|cx & aa|ab|ac|ba|bb|bc|ca|cb|cc`},
		{`\x{FFFD}a`, ``},
		{`é.ü`, `é & ü`},
	} {
		p, err := Parse(tc.pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, show(Required(p.Tree))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.pattern, diff)
		}
	}
	// A tree that Parse does not make: a carriage return may follow $.
	re, err := syntax.Parse(`(?m)foo$\nbar`, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(Required(re)); !satisfied(Required(re), "foo\r\nbar") || got == "" {
		t.Errorf("got %q", got)
	}
}

// TestLongLiteral has a literal over the limit, whose cuts fall inside runes.
func TestLongLiteral(t *testing.T) {
	long := "a" + strings.Repeat("日本", 100)
	p, err := Parse(long, Options{})
	if err != nil {
		t.Fatal(err)
	}
	must := Required(p.Tree)
	if len(must) == 0 || !satisfied(must, long) || satisfied(must, "日本") {
		t.Errorf("got %v", must)
	}
}

func TestLiteral(t *testing.T) {
	type literal struct {
		Text     string
		Fold, OK bool
	}
	for pattern, want := range map[string]literal{
		`foo`:          {"foo", false, true},
		`(?i)foo`:      {"foo", true, true},
		`(f)(?:o)\x6f`: {"foo", false, true},
		`foo|bar`:      {},
		`^foo`:         {},
		`foo$`:         {},
		`fo+`:          {},
		`fo(?i:bar)`:   {},
		``:             {},
		`.`:            {},
	} {
		p, err := Parse(pattern, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got literal
		got.Text, got.Fold, got.OK = p.Literal()
		if got != want {
			t.Errorf("%q: %+v, want %+v", pattern, got, want)
		}
	}
}

// checkRequired checks that matching texts contain the literals.
func checkRequired(t *testing.T, pattern string, fold bool, texts ...string) {
	t.Helper()
	p, err := Parse(pattern, Options{Fold: fold})
	if err != nil {
		return
	}
	re, err := regexp.Compile(p.String())
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	must := Required(p.Tree)
	for _, text := range texts {
		m := re.FindString(text)
		if m != "" && (!satisfied(must, text) || !satisfied(must, m)) {
			t.Errorf("%q matches %q in %q, which has not %s", pattern, m, text, show(must))
		}
	}
}

func TestRandomRequired(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range randomLiterals {
		var texts []string
		for range 10 {
			texts = append(texts, randomText(rnd))
		}
		checkRequired(t, randomPattern(rnd, 1+rnd.IntN(4)), rnd.IntN(3) == 0, texts...)
	}
}

// FuzzRequired checks that a matching line satisfies Required.
func FuzzRequired(f *testing.F) {
	for _, s := range []string{`a+b`, `(foo|bar)baz`, `[Kk]s?`, `x(a.*|b)y$`, `(?i)kK+`, `a{2,3}|\x{FFFD}`} {
		f.Add(s, "foobaz \u212A ab xay", false)
		f.Add(s, "KS\u017F xby\r", true)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		checkRequired(t, pattern, fold, strings.Split(text, "\n")...)
	})
}
