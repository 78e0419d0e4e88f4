package ignore

import (
	"io/fs"
	"path/filepath"
	"testing"
)

func parse(s string) *List { return Parse([]byte(s)) }

func TestKindBeforeDepth(t *testing.T) {
	f := Top(parse("*\n")).With(Lists{RgIgnore: parse("!a\n"), Ignore: parse("b\n"), GitIgnore: parse("g\n")})
	f = f.Enter("d", Lists{Ignore: parse("a\n!b\n"), GitIgnore: parse("b\n!g\n")})
	for name, want := range map[string]Verdict{"a": Included, "b": Included, "g": Included, "x": Ignored} {
		if got := f.Match(name, false); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestRepositoryStopsGitOnly(t *testing.T) {
	f := Top(parse("/u\n")).With(Lists{Ignore: parse("i\n"), GitIgnore: parse("g\n"), Exclude: parse("e\n"), Repo: true})
	plain, repo := f.Enter("d", Lists{}), f.Enter("d", Lists{Repo: true})
	for _, test := range []struct {
		name        string
		plain, repo bool
	}{{"i", true, true}, {"g", true, false}, {"e", true, false}, {"u", false, true}} {
		if got := plain.Ignored(test.name, false); got != test.plain {
			t.Errorf("%s: %v", test.name, got)
		}
		if got := repo.Ignored(test.name, false); got != test.repo {
			t.Errorf("%s below .git: %v", test.name, got)
		}
	}
	if f.Ignored("d", true) || !f.Ignored("u", false) {
		t.Error("the folder above changed")
	}
}

// disk is a file system for the functions that read. A name without text is a folder.
type disk map[string]string

func (d disk) read(path string) ([]byte, error) {
	text, ok := d[filepath.ToSlash(path)]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case text == "":
		return nil, fs.ErrInvalid
	}
	return []byte(text), nil
}

func TestAbove(t *testing.T) {
	d := disk{
		"/.ignore":               "top\n/a/r/d/s/anchored\n",
		"/.gitignore":            "beyond\n",
		"/a/.rgignore":           "rg\n",
		"/a/r/.git":              "",
		"/a/r/.git/info/exclude": "/d/s/excluded\n",
		"/a/r/.gitignore":        "in\n/d/s/deep\n/s/no\n",
		"/a/r/d/.gitignore":      "!in2\n",
		"/a/r/d/s/.gitignore":    "own\n",
	}
	f, _ := Above(filepath.FromSlash("/a/r/d/s"), parse("/d/s/mine\n"), d.read)
	for name, want := range map[string]bool{
		"top": true, "anchored": true, "beyond": false, "rg": true, "excluded": true,
		"in": true, "deep": true, "no": false, "own": false, "mine": true,
	} {
		if got := f.Ignored(name, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if f, _ := Above(string(filepath.Separator), nil, d.read); f.Ignored("top", false) {
		t.Error("the top's own lists are for the caller")
	}
	d["/a/r/in/w/.git"], d["/a/r/in/w/e/f"] = "gitdir: /a/r/.git/worktrees/w\n", "" // a worktree, say
	for dir, want := range map[string]string{"/a/r/in": "/a/r/in", "/a/r/in/x": "/a/r/in", "/a/r/in/w": "", "/a/r/in/w/e": "", "/a/r/in/w/in": ""} {
		if _, ignored := Above(filepath.FromSlash(dir), nil, d.read); ignored != filepath.FromSlash(want) {
			t.Errorf("%s is in the ignored folder %q", dir, ignored)
		}
	}
}

func TestExclude(t *testing.T) {
	d := disk{
		"/r/.git": "", "/r/.git/info/exclude": "r\n",
		"/w/.git":                        "gitdir: /r/.git/worktrees/w\n",
		"/r/.git/worktrees/w/commondir":  "../..\n",
		"/m/.git":                        "gitdir: ../r/.git/modules/m\n",
		"/r/.git/modules/m/info/exclude": "m\n",
		"/bad/.git":                      "nothing\n",
	}
	for dir, name := range map[string]string{"/r": "r", "/w": "r", "/m": "m"} {
		if data, _, repo := Exclude(dir, d.read); !repo || Parse(data).Match(name, false) != Ignored {
			t.Errorf("%s: info/exclude not found", dir)
		}
	}
	for _, dir := range []string{"/bad", "/none"} {
		if data, _, _ := Exclude(dir, d.read); data != nil {
			t.Errorf("%s has patterns", dir)
		}
	}
}

func TestGlobal(t *testing.T) {
	const x, h = "/x/git/config", "/h/.gitconfig"
	tests := []struct {
		disk disk
		xdg  string
		want string // the ignored name
	}{
		{disk{"/h/.config/git/ignore": "i"}, "", "i"},
		{disk{"/x/git/ignore": "i", "/h/.config/git/ignore": "no"}, "/x", "i"},
		{disk{x: "[core]\nexcludesfile=/f", "/f": "i", "/x/git/ignore": "no"}, "/x", "i"},
		{disk{x: "[core]\nexcludesfile=/f", h: "[core]\nexcludesFile = ~/g", "/f": "no", "/h/g": "i"}, "/x", "i"},
		{disk{h: "[core]\nexcludesfile=/a\n[Core] ExcludesFile = \"/f f\" ; no\n", "/f f": "i"}, "", "i"},
		{disk{h: "[a]\nexcludesfile=/a\n[core \"]x\"]\nexcludesfile=/a\n", "/a": "no", "/h/.config/git/ignore": "i"}, "", "i"},
		{disk{h: "\xef\xbb\xbf[core]\r\n\tbare\r\n\texcludesfile = /f\\\r\nf  \r\n", "/ff": "i"}, "", "i"},
		{disk{h: "[core]\n# excludesfile = /a\nexcludesfile = /f g\\t\" \"#x", "/f g\t ": "i"}, "", "i"},
		{disk{h: "[core]\nexcludesfile = \"/f#g\"\n", "/f#g": "i"}, "", "i"},
		{disk{h: "[core]\nexcludesfile =\n", "/h/.config/git/ignore": "no"}, "", ""},
		{disk{h: "[core]\nexcludesfile = relative\n", "relative": "no"}, "", ""},
		{disk{h: "[core", "/h/.config/git/ignore": "i"}, "", "i"},
		{disk{h: "[include]\npath = d/core\n", "/h/d/core": "[core]\nexcludesfile = \"~/my f\"", "/h/my f": "i"}, "", "i"},
		{disk{h: "[include]\npath = ~/a\npath = /b\n", "/h/a": "[core]\nexcludesfile = /no", "/b": "[core]\nexcludesfile = /f", "/f": "i", "/no": "no"}, "", "i"},
		{disk{h: "[core]\nexcludesfile = /no\n[include]\npath = /b\n", "/b": "[core]\nexcludesfile = /f", "/f": "i", "/no": "no"}, "", "i"},
		{disk{h: "[include]\npath = /b\n[core]\nexcludesfile = /f", "/b": "[core]\nexcludesfile = /no", "/f": "i", "/no": "no"}, "", "i"},
		{disk{h: "[include]\npath = /b\npath = /b\n", "/b": "[include]\npath = /h/.gitconfig\npath = /b\n[core]\nexcludesfile = /f", "/f": "i"}, "", "i"},
		{disk{h: "[includeIf \"gitdir:~/w/\"]\npath = /b\n", "/b": "[core]\nexcludesfile = /no", "/no": "no", "/h/.config/git/ignore": "i"}, "", "i"},
		{disk{h: "[include]\npath = /none\n", "/h/.config/git/ignore": "i"}, "", "i"},
	}
	for i, test := range tests {
		l := Global("/h", func(string) string { return test.xdg }, test.disk.read)
		if test.want == "" && l != nil || test.want != "" && l.Match(test.want, false) != Ignored {
			t.Errorf("%d: wrong list", i)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	f := Top(nil).With(Lists{GitIgnore: parse("*.o\n/a/*/b?\n**/x/**/y*\nname\n*.[ab].c\n")}).Enter("a", Lists{})
	f = f.Enter("x", Lists{})
	for _, name := range []string{"b1", "y", "q.a.c", "name", "z.o"} {
		if n := testing.AllocsPerRun(10, func() { f.Match(name, false) }); n != 0 || !f.Ignored(name, false) {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
