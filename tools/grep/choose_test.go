package grep

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/search/match"
	"mcp-toolset/tools/toolstest"
)

func TestSplit(t *testing.T) {
	for globs, want := range map[string]string{
		"":                    "",
		" *.go,*.js\t*.ts\n":  "*.go|*.js|*.ts",
		"*.{go,js} a":         "*.{go,js}|a",
		"*.{go, js}":          "*.{go,js}",
		"*.{ go ,js }":        "*.{go,js}",
		"{a b,c d}":           "{a b,c d}",
		"{a,{b, c} ,d},e":     "{a,{b,c},d}|e",
		"f[1,2].txt":          "f[1,2].txt",
		"f[],].txt,[! ]":      "f[],].txt|[! ]",
		`[\] ] x`:             `[\] ]|x`,
		"[a *.go":             "[a|*.go",
		`sp\ ace/* x`:         `sp\ ace/*|x`,
		`a\,b,c\`:             `a\,b|c\`,
		"},a":                 "}|a",
		"{a, b":               "{a,b",
		"!a !b/, **/{c,d}/**": "!a|!b/|**/{c,d}/**",
	} {
		if got := strings.Join(texts(split(globs, "")), "|"); got != want {
			t.Errorf("%q: %s, want %s", globs, got, want)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, tc := range [][3]string{
		{"*.go", "/w", "*.go"},
		{"./*.go", "/w", "/*.go"},
		{"./src/*.go", "", "/src/*.go"},
		{"!./src", "/w", "!/src"},
		{"/w/src/*.go", "/w", "/src/*.go"},
		{"!/w/src", "/w", "!/src"},
		{"/wide/*.go", "/w", "/wide/*.go"},
		{"/src/*.go", "/w", "/src/*.go"},
		{"/src/*.go", "", "/src/*.go"},
		{"/src/*.go", "/", "/src/*.go"},
	} {
		if got := split(tc[0], tc[1]); len(got) != 1 || got[0].text != tc[2] || got[0].given != tc[0] {
			t.Errorf("%s below %s: %v, want %s", tc[0], tc[1], got, tc[2])
		}
	}
}

func texts(list []glob) (texts []string) {
	for _, g := range list {
		texts = append(texts, g.text)
	}
	return texts
}

// TestJoin lists globs with blanks and commas in them, where the names of names exist.
func TestJoin(t *testing.T) {
	names := []string{"My Docs", "My Docs/a, b", "x", "x y z", "src", "a,b"}
	for globs, want := range map[string]string{
		"My Docs/**":                 "My Docs/**",
		"My Docs":                    "My Docs",
		"*.go My Docs/** *.md":       "*.go|My Docs/**|*.md",
		"My Docs/a, b/*.go":          "My Docs/a, b/*.go",
		"!My Docs/** *.go":           "!My Docs/**|*.go",
		"x y z":                      "x y z",
		"x y":                        "x|y",
		"x src":                      "x|src",
		"a,b/*":                      "a,b/*",
		"My Other/**":                "My|Other/**",
		"*.go *.js":                  "*.go|*.js",
		"/w/My Docs/** /w/src/*":     "/My Docs/**|/src/*",
		"./My Docs/*.go,*.js":        "/My Docs/*.go|*.js",
		"src/** My Docs/sub/*.{a,b}": "src/**|My|Docs/sub/*.{a,b}",
	} {
		got := join(globs, "/w", split(globs, "/w"), func(name string) bool {
			return slices.Contains(names, strings.TrimPrefix(name, "/"))
		})
		if strings.Join(texts(got), "|") != want {
			t.Errorf("%s: %q, want %s", globs, texts(got), want)
		}
	}
	for folder, want := range map[string]string{"/w/sp ace": "/src/*.ts", "/w/a,b": "/src/*.ts", "/w/{x": "/src/*.ts", "/w/[p] {q}": "/src/*.ts"} {
		if got := texts(split("!"+folder+"/src/*.ts "+folder+"/src/*.ts", folder)); !slices.Equal(got, []string{"!" + want, want}) {
			t.Errorf("below %s: %q", folder, got)
		}
	}
}

// newChooser returns a chooser for one search.
func newChooser(in Input, prefix, dir string) (*chooser, error) {
	c, err := newChoice(in, prefix, dir, nil)
	if err != nil {
		return nil, err
	}
	return c.chooser(), nil
}

func TestCompile(t *testing.T) {
	for globs, want := range map[string]string{
		strings.Repeat("a ", 1001):          "there are 1001 globs, and 1000 is the most. Use fewer, or several calls.",
		strings.Repeat("{a,b} ", 501) + "c": "the globs stand for more than 1000 with their braces. Use fewer, or several calls.",
		"a !x{y":                            `glob !x{y is not valid: the { is not closed, at position 3. Close it, or write \{ for a literal brace.`,
	} {
		if _, err := newChooser(Input{Glob: globs}, "", "/w"); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v", globs, err)
		}
	}
	if _, err := newChooser(Input{Glob: strings.Repeat("a ", 1000)}, "", "/w"); err != nil {
		t.Error(err)
	}
}

// pickTree lists the files of the tests below.
var pickTree = strings.Fields(`a.go a_test.go b.js .hid/a.go src/a.go src/a_test.go src/vendor/v.go src/vendor/deep/v.js src/web/b.js
	vendor/v.go vendor/deep/v.go node_modules/m/b.js lib/src/a.go lib/node_modules/b.js`)

// chosen returns the files below a folder of the tree that globs choose.
func chosen(t *testing.T, globs, dir, folder string) (list []string) {
	t.Helper()
	c, err := newChooser(Input{Glob: globs, Path: folder}, workspace.Shown(dir, folder), dir)
	if err != nil {
		t.Fatalf("%s: %v", globs, err)
	}
	below := strings.TrimPrefix(folder, "/w")
	for _, f := range pickTree {
		if rest, ok := strings.CutPrefix("/"+f, below+"/"); ok {
			at := path.Dir(rest)
			if at == "." {
				at = ""
			}
			if c.pick(at, path.Base(rest)) {
				list = append(list, f)
			}
		}
	}
	return list
}

// TestPickLikeRipgrep checks that globs in the working directory choose the same files as
// in ripgrep.
func TestPickLikeRipgrep(t *testing.T) {
	rg := os.Getenv("RIPGREP")
	if rg == "" {
		rg, _ = exec.LookPath("rg")
	}
	if rg == "" {
		t.Skip("ripgrep is neither in PATH nor named by RIPGREP")
	}
	dir := t.TempDir()
	for _, f := range pickTree {
		full := filepath.Join(dir, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, globs := range []string{
		"*.go", "!*.go", "*.go !*_test.go", "!*_test.go *.go", "src/**", "src", "src/", "!src", "!src/", "!src/**", "!/src", "!src/*", "src/*.go",
		"!node_modules", "!node_modules/", "!**/node_modules", "!**/vendor/**", "!vendor", "!/vendor", "!src/vendor", "!**/vendor !*.js", "*.js !vendor",
		"!vendor vendor/v.go", "!deep", "!src/vendor/deep", "!vendor/*.go", "**/src/*.go", "*.{go,js} !{src,lib}", "!.*", "!.hid", "!*", "**", "a.go src/a.go",
		"!src !*.js **/a*",
	} {
		args := []string{"--no-config", "--files", "--hidden", "--no-ignore", "--null"}
		for _, g := range texts(split(globs, "")) {
			args = append(args, "-g", g)
		}
		cmd := exec.Command(rg, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			t.Fatalf("%s: %v", cmd, err)
		}
		var want []string
		for f := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			if len(f) > 0 {
				want = append(want, string(f))
			}
		}
		got := chosen(t, globs, "/w", "/w")
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, ripgrep has %q", globs, got, want)
		}
	}
}

// TestPickBelow checks both readings of globs in another folder.
func TestPickBelow(t *testing.T) {
	for _, tc := range []struct{ globs, dir, folder, want string }{
		{"src/*.go", "/w", "/w/src", "src/a.go src/a_test.go"},
		{"*.go", "/w", "/w/src/vendor", "src/vendor/v.go"},
		{"vendor/*.go", "/w", "/w/src", "src/vendor/v.go"},
		{"!vendor", "/w", "/w/src", "src/a.go src/a_test.go src/web/b.js"},
		{"!src/vendor", "/w", "/w/src", "src/a.go src/a_test.go src/web/b.js"},
		{"!/vendor", "/w", "/w/src", "src/a.go src/a_test.go src/web/b.js"},
		{"!src", "/w", "/w/src/web", "src/web/b.js"}, // it was named
		{"!src/**", "/w", "/w/src/web", ""},
		{"*.go !src/a.go", "/w", "/w/src", "src/a_test.go src/vendor/v.go"},
		{"*.go !/a.go", "/w", "/w/src", "src/a_test.go src/vendor/v.go"},
		{"!*_test.go *.go", "/w", "/w/src", "src/a.go src/a_test.go src/vendor/v.go"},
		{"./src/*.go", "/w", "/w", "src/a.go src/a_test.go"},
		{"/w/src/*.go", "/w", "/w", "src/a.go src/a_test.go"},
		{"/w/src/*.go", "/w", "/w/src", "src/a.go src/a_test.go"},
		{"!/w/src /w/**", "/w", "/w/lib", "lib/src/a.go lib/node_modules/b.js"},
		{"web/*", "/elsewhere", "/w/src", "src/web/b.js"},
		{"/w/src/web/*", "/elsewhere", "/w/src", "src/web/b.js"},
		{"!web", "/elsewhere", "/w/src", "src/a.go src/a_test.go src/vendor/v.go src/vendor/deep/v.js"},
		{"/w/lib/src/*", "/w/lib", "/w", "lib/src/a.go"},
	} {
		if got := strings.Join(chosen(t, tc.globs, tc.dir, tc.folder), " "); got != tc.want {
			t.Errorf("%s in %s, below %s: %s", tc.globs, tc.dir, tc.folder, got)
		}
	}
}

// TestCounted checks that files that may not be shown are not counted, and that the rules
// are checked for few files.
func TestCounted(t *testing.T) {
	asks := 0
	c, err := newChooser(Input{Glob: "f*"}, "", "/w")
	if err != nil {
		t.Fatal(err)
	}
	c.show = func(path string) bool { asks++; return path != "d/f1" && path != "g" }
	if c.pick("", "g"); c.any {
		t.Error("a file that may not be shown is there")
	}
	if !c.pick("d", "f1") || c.any || c.chosen > 0 {
		t.Error("a file that may not be shown counts")
	}
	if c.pick("d", "h"); !c.any || c.chosen > 0 {
		t.Error("a file that is not chosen counts as chosen, or is not there")
	}
	for range 2 * mostCounted {
		c.pick("d", "f2")
		c.pick("d", "h")
	}
	if c.chosen != mostCounted+1 || asks != mostCounted+4 {
		t.Errorf("%d chosen, %d asked about", c.chosen, asks)
	}
}

// TestAnew checks that counts are reset when the files are picked again.
func TestAnew(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(w.Root, name), []byte("foo\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := w.Env()
	dir, err := env.Files.Folder(w.Root)
	if err != nil {
		t.Fatal(err)
	}
	m, err := match.Compile("foo", match.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := search.New(search.Options{})
	defer s.Close()
	in, err := prepare(env, Input{Path: w.Root})
	if err != nil {
		t.Fatal(err)
	}
	r := &searching{in: in, env: env, q: &search.Query{Match: m}}
	if err := r.folder(t.Context(), dir, s); err != nil || r.c.chosen != 2 {
		t.Fatalf("%d chosen, %v", r.c.chosen, err)
	}
	if r.q.Anew(); r.c.chosen != 0 || r.c.any {
		t.Errorf("still %d chosen, any %t", r.c.chosen, r.c.any)
	}
}

// TestRest checks that files are no longer picked, without globs and type, once enough are
// counted.
func TestRest(t *testing.T) {
	for _, in := range []Input{{}, {Glob: "*"}, {Type: "go"}} {
		c, err := newChooser(in, "", "/w")
		if err != nil {
			t.Fatal(err)
		}
		for i := range mostCounted + 1 {
			if c.rest() {
				t.Errorf("%+v: no need to ask about more than %d files", in, i)
			}
			c.pick("d", "f.go")
		}
		if c.rest() != (in == Input{}) {
			t.Errorf("%+v: %v", in, c.rest())
		}
	}
}
