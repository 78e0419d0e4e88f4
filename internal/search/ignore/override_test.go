package ignore

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestOverride(t *testing.T) {
	tests := []struct {
		globs                        string // separated by blanks
		included, ignored, undecided string // paths, separated by blanks
	}{
		{"*.go", "a.go b/a.go x.go/", "a.c", "b/"},
		{"!*.go", "", "a.go b/a.go x.go/", "a.c b/"},
		{"*.go !*_test.go", "a.go", "a_test.go a.c", "b/"},
		{"!*_test.go *.go", "a.go a_test.go", "a.c", "b/"},
		{"/a", "a", "b/a c", "b/"},
		{"src/**", "src/a src/b/c src/b/", "a x/src/a", "src/ b/"},
		{"**/src/*.c", "src/a.c x/src/a.c", "a.c src/x/a.c", "x/"},
		{"*.{c,h}", "a.c b/a.h", "a.o", "b/"},
		{"{a,b{c,d}e}x", "ax bcex bdex", "bex x", ""},
		{"foo{,.txt}", "foo foo.txt", "foo.", ""},
		{"{a,b/c}", "a b/c", "x/a x/b/c", ""},
		{"{/a,b}", "a b", "x/b", ""},
		{"{src,lib}/", "src/ x/lib/", "src", "b/"},
		{"[{,}]", "{ , }", "a", ""},
		{"{[,}],a}", ", } a", "b", ""},
		{"\\{a\\}", "{a}", "a", ""},
		{"{a\\,b,c}", "a,b c", "a b", ""},
		{"a,b", "a,b", "a", ""},
		{"{a}{b}{}", "ab", "a", ""},
		{"#x", "#x", "x", ""},
		{"a/b**", "a/b a/bc", "a/bc/d", ""},
		{"**", "a a/b a/", "", ""},
		{"!", "", "", "a a/"},
	}
	for _, test := range tests {
		o, err := Globs(strings.Fields(test.globs))
		if err != nil {
			t.Errorf("%s: %v", test.globs, err)
			continue
		}
		for want, paths := range map[Verdict]string{Included: test.included, Ignored: test.ignored, Undecided: test.undecided} {
			for _, path := range strings.Fields(paths) {
				path, folder := strings.CutSuffix(path, "/")
				if got := o.Match(path, folder); got != want {
					t.Errorf("%s: %q (folder %v) is %v, want %v", test.globs, path, folder, got, want)
				}
			}
		}
	}
}

// TestOverrideLikeRipgrep compares with ripgrep for globs that have the same meaning
// there.
func TestOverrideLikeRipgrep(t *testing.T) {
	names := strings.Fields("a.c a.h b/a.c b/c/a.h b/c/x src/a src/b/a.c x.log build/x.log build/y {q} a,b ab")
	globs := strings.Fields("*.c !*.h *.{c,h} /a.c b/** **/c/* src/ !src/ {a,b}.c {a,b/c}/*.h !b/c [a-b]* \\{q\\} *.log build/** build/ build ** b{/,/c/}a.c !{b,src} a,b *b")
	dir := t.TempDir() + "/tree"
	for _, name := range names {
		write(t, dir+"/"+name, "")
	}
	write(t, dir+"/.gitignore", "*.log\nbuild\n")
	base := Top(nil).With(Lists{GitIgnore: Parse([]byte("*.log\nbuild\n"))})
	for i, first := range globs {
		for j := i % globStep; j < len(globs); j += globStep {
			second := globs[j]
			o, err := Globs([]string{first, second})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range append(names, ".gitignore") {
				if left(base, o, name) {
					got = append(got, name)
				}
			}
			want := strings.FieldsFunc(ripgrep(t, dir, "--no-require-git", "-g", first, "-g", second), func(r rune) bool { return r == 0 })
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("-g %s -g %s: %q, ripgrep has %q", first, second, got, want)
			}
		}
	}
}

// left reports whether a walk leaves a file in: an ignored folder excludes all its
// files.
func left(f *Folder, o *Override, path string) bool {
	for i := 0; ; {
		cut := strings.IndexByte(path[i:], '/')
		end := i + cut
		if cut < 0 {
			end = len(path)
		}
		v := o.Match(path[:end], cut >= 0)
		if v == Undecided {
			v = f.Match(path[i:end], cut >= 0)
		}
		if v == Ignored || cut < 0 {
			return v != Ignored
		}
		f = f.Enter(path[i:end], Lists{})
		i = end + 1
	}
}

func TestGlobErrors(t *testing.T) {
	tests := []struct {
		glob   string
		offset int
		fact   string
	}{
		{"a[b", 1, unclosedBracket},
		{"![", 1, unclosedBracket},
		{"[]", 0, unclosedBracket},
		{"a/\\", 2, danglingBackslash},
		{"a{b{c}", 1, "the { is not closed"},
		{"a}", 1, "no { is open"},
		{"{[a,b}", 1, unclosedBracket},
		{"x[b-a]", 1, backwardRange},
		{"[[:foo:]]", 0, unknownClass},
		{strings.Repeat("{a,b}", 10), 0, "braces make more than 1000 globs"},
		{strings.Repeat("{a,b}", 800), 0, "braces make more than 1000 globs"},
		{strings.Repeat("a", maxGlob+1), maxGlob, "longer than 4096 bytes"},
	}
	for _, test := range tests {
		_, err := Globs([]string{"ok", test.glob})
		var e *GlobError
		if !errors.As(err, &e) || *e != (GlobError{test.glob, test.offset, test.fact}) {
			t.Errorf("%q: %v", test.glob, err)
		}
	}
	if _, err := Globs([]string{strings.Repeat("{a,b}", 9), strings.Repeat("{a,b}", 9)}); err == nil {
		t.Error("the limit holds for each glob only")
	}
	if _, err := Globs([]string{strings.Repeat("{", 2048) + strings.Repeat("}", 2048)}); err != nil {
		t.Error(err)
	}
	if o, err := Globs([]string{"", "!"}); o != nil || err != nil {
		t.Error("empty globs have an effect")
	}
}
