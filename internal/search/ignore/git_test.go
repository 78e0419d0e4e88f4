package ignore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sample is an ignore file and paths below it. A path with a slash at its end is a
// folder.
type sample struct {
	file  string
	paths []string
}

// judge returns the verdict on a path: Ignored if one of its folders is ignored,
// otherwise its own verdict.
func judge(l *List, path string) Verdict {
	path, folder := strings.CutSuffix(path, "/")
	for i := range path {
		if path[i] == '/' && l.Match(path[:i], true) == Ignored {
			return Ignored
		}
	}
	return l.Match(path, folder)
}

// askGit returns git's verdicts on all paths of all samples.
func askGit(t *testing.T, samples []sample, config ...string) [][]Verdict {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: ", err)
	}
	top := filepath.Join(t.TempDir(), "tree")
	write(t, filepath.Join(top, "x"), "")
	git(t, top, nil, "init", "-q")
	if config != nil {
		git(t, top, nil, append([]string{"config"}, config...)...)
	}
	var in bytes.Buffer
	for i, s := range samples {
		dir := strconv.Itoa(i)
		write(t, filepath.Join(top, dir, ".gitignore"), s.file)
		if slices.ContainsFunc(s.paths, func(p string) bool { return strings.HasSuffix(p, "/") }) {
			write(t, filepath.Join(top, dir+"f", ".gitignore"), s.file)
		}
		for _, p := range s.paths {
			p, folder := strings.CutSuffix(p, "/")
			at := dir // folders go to a separate place, because a file may have the same name
			if folder {
				at += "f"
				if err := os.MkdirAll(filepath.Join(top, at, p), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			in.WriteString(at + "/" + p + "\x00")
		}
	}
	out := git(t, top, &in, "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin")
	fields := strings.Split(out, "\x00") // source, line, pattern, path
	answers := make([][]Verdict, len(samples))
	for i, s := range samples {
		for range s.paths {
			v := Undecided
			if fields[0] != "" {
				v = Ignored
				if fields[2][0] == '!' {
					v = Included
				}
			}
			answers[i] = append(answers[i], v)
			fields = fields[4:]
		}
	}
	return answers
}

// home returns the user's home folder for a tree at dir.
func home(dir string) string { return dir + ".home" }

// git runs git with no configuration except that of the test.
func git(t *testing.T, dir string, in *bytes.Buffer, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+home(dir), "XDG_CONFIG_HOME="+filepath.Join(home(dir), ".config"))
	if in != nil {
		cmd.Stdin = in
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	none := args[0] == "check-ignore" && errors.As(err, &exit) && exit.ExitCode() == 1
	if err != nil && !none {
		t.Fatalf("git %v: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, samples []sample) {
	t.Helper()
	bad, paths := 0, 0
	for i, want := range askGit(t, samples) {
		paths += len(want)
		l := Parse([]byte(samples[i].file))
		for j, path := range samples[i].paths {
			if got := judge(l, path); got != want[j] {
				t.Errorf("%q: %q is %v, git says %v", samples[i].file, path, got, want[j])
				if bad++; bad > 20 {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d lists, %d paths", len(samples), paths)
}

// tricky lists patterns with the verdicts that follow from gitignore(5) and git's
// source. Each is also compared with git.
var tricky = []struct {
	file               string
	ignored, undecided string // paths, separated by "|"
	included           string
}{
	{"foo", "foo|foo/|a/foo|a/foo/b", "foo2|afoo|Foo", ""},
	{"/foo", "foo|foo/x", "a/foo", ""},
	{"foo/", "foo/|a/foo/|a/foo/b", "foo|a/foo", ""},
	{"a/b", "a/b|a/b/c", "x/a/b|a/bc", ""},
	{"a/*", "a/b|a/b/c", "a/|b/a/c", ""},
	{"**/a/b", "a/b|x/a/b|x/y/a/b", "xa/b|a/x/b", ""},
	{"a/**", "a/b|a/b/c", "a|a/|x/a/b", ""},
	{"a/**/b", "a/b|a/x/b|a/x/y/b", "ab|a/xb|x/a/b", ""},
	{"**/", "a/|a/b", "a", ""},
	{"**", "a|a/b", "", ""},
	{"/**/x*y/**/z", "xy/z|a/xay/b/c/z", "x/y/z|xy", ""},
	{"*.o", "a.o|.o|d/a.o", "a.oo|o|a.o.c", ""},
	{"*.tar.gz", "a.tar.gz|.tar.gz", "a.gz|tar.gz", ""},
	{"a*b*c", "abc|axbxc|abcbc", "acb|ab/c", ""},
	{"a?c", "abc|a.c", "ac|a/c|a\xc3\xa9c", ""},
	{"a??c", "a\xc3\xa9c", "", ""},
	{"[ab]x", "ax|bx", "cx|abx", ""},
	{"[!ab]x", "cx", "ax", ""},
	{"[^ab]x", "cx", "ax", ""},
	{"[]a]x", "]x|ax", "x", ""},
	{"[a-c]", "a|b|c", "d|-", ""},
	{"[a-]", "a|-", "b", ""},
	{"[\\a-c]", "b|a", "\\|-", ""},
	{"[a\\]b]", "]|b", "\\", ""},
	{"[z-a]q[", "", "q|zq[", ""},
	{"[z-ab]", "z|b", "a|c|y", ""},
	{"[[:digit:][:upper:]_]", "1|A|_", "a|:", ""},
	{"[[:foo:]]", "", "f|:", ""},
	{"[[:alpha]", "[|:|a|l", "b", ""},
	{"a[/]b", "", "a/b", ""},
	{"a[!x]b", "ayb", "a/b", ""},
	{"[a", "", "a|[a", ""},
	{"a\\", "", "a|a\\", ""},
	{"\\a", "a", "\\a", ""},
	{"\\#a", "#a", "a", ""},
	{"#a", "", "#a|a", ""},
	{"\\!a", "!a", "a", ""},
	{"a \nb\\ \nc\\  ", "a|b |c ", "b|c|a ", ""},
	{"d\\\\  ", "d\\", "d", ""},
	{"a\t", "a\t", "a", ""},
	{" a", " a", "a", ""},
	{"a\r\nb\r\r\nc\r", "a|b\r|c", "b", ""},
	{"\xef\xbb\xbfa\nb", "a|b", "", ""},
	{"a\x00b", "a", "b", ""},
	{"\xff?", "\xff\xfe", "\xff", ""},
	{"*\n!a", "b|b/a", "", "a"},
	{"!a\na", "a", "", ""},
	{"*.c\n!x.c", "y.c", "", "x.c"},
	{"!x.c\n*.c", "y.c|x.c", "", ""},
	{"a\n!a", "", "", "a"},
	{"*.c\n!x.c\nx*", "y.c|x.c|xx", "", ""},
	{"*\n!*/\n!*.c", "b", "", "a.c|d/|d/e.c"},
	{"/*\n!/a", "b", "", "a"},
	{"a/\n!a/b", "a/|a/b", "", ""},
	{"/", "", "a|a/", ""},
	{"//a", "", "a|a/", ""},
	{"a//", "", "a/", ""},
	{"!", "", "a|!", ""},
	{"\\", "", "a|\\", ""},
	{"a/b**", "a/b|a/bc|a/bc/d|a/bcd/e", "x/a/b", ""},
	{"a**/b", "ab|ax/b|ax/y/b|a/b", "xa/b", ""},
	{"a/?**", "a/b|a/bc", "b/bc", ""},
	{"a/x?**/y", "a/xz/y", "a/xz/w/y|a/y", ""},
	{"**\\/b", "c/b|c/d/b", "b", ""},
	{"***/b", "b|c/b", "", ""},
	{"a/***", "a/b|a/b/c", "a", ""},
	{"a/*b/c", "a/b/c|a/xb/c", "a/x/b/c|a/b/b/c", ""},
	{"{a,b}", "{a,b}", "a|b", ""},
	{"**/**/a", "a|b/a|b/c/a", "", ""},
	{"a/**/**/b", "a/b|a/c/b", "", ""},
	{"a\\*", "a*", "ab|a\\*", ""},
	{"*a*a*b", "aab|xayazb", "ab|aaa", ""},
	{"**/*a/b*/c", "a/b/c|x/ya/bz/c", "a/c|a/x/b/c", ""},
}

func TestTricky(t *testing.T) {
	var samples []sample
	for _, test := range tricky {
		l := Parse([]byte(test.file))
		s := sample{file: test.file}
		for want, paths := range map[Verdict]string{Ignored: test.ignored, Undecided: test.undecided, Included: test.included} {
			if paths == "" {
				continue
			}
			for _, path := range strings.Split(paths, "|") {
				if got := judge(l, path); got != want {
					t.Errorf("%q: %q is %v, want %v", test.file, path, got, want)
				}
				s.paths = append(s.paths, path)
			}
		}
		samples = append(samples, s)
	}
	compare(t, samples)
}

func TestClassesLikeGit(t *testing.T) {
	var samples []sample
	var paths []string
	for b := 1; b < 256; b++ {
		if b != '/' && b != '.' {
			paths = append(paths, string([]byte{byte(b)}))
		}
	}
	for name := range classes {
		samples = append(samples, sample{"[[:" + name + ":]]", paths}, sample{"[^[:" + name + ":]x]", paths})
	}
	for _, set := range []string{"?", "[!-~]", "[\x80-\xff]", "[^\x80-\xff]", "[[:alpha:]-z]", "[a-c-e]", "[a-\\]]", "[--0]", "[^]]", "[^^]", "[[-]]", "[[:]", "[]-a]", "[a-[:digit:]]"} {
		samples = append(samples, sample{set, paths})
	}
	compare(t, samples)
}

func TestRandomListsLikeGit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]sample, randomLists)
	for i := range samples {
		for range 1 + r.IntN(4) {
			samples[i].file += randomPattern(r) + "\n"
		}
		for range 20 {
			samples[i].paths = append(samples[i].paths, randomPath(r))
		}
	}
	compare(t, samples)
}

var (
	patternParts = strings.Split("n|n.*|a|a|b|b|ab|.o|.|/|/|/|*|*|**|**|**/|/**|?|[ab]|[!a]|[a-b]|\\|\\*|\\/|\\b| |\u00e9|#|!|[[:alpha:]]|[|]|-|\r|\t|\xff|a*|*b|/a|/b/", "|")
	nameParts    = strings.Split("n|n.n|a|a|a|b|b|b|ab|.o|\u00e9|*|#|!| |-|\\|\xff|[", "|")
)

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(7) {
		b.WriteString(patternParts[r.IntN(len(patternParts))])
	}
	return b.String()
}

// randomPath returns a path, which is a folder in one of three cases.
func randomPath(r *rand.Rand) string {
	var names []string
	for range 1 + r.IntN(4) {
		name := ""
		for range 1 + r.IntN(3) {
			name += nameParts[r.IntN(len(nameParts))]
		}
		names = append(names, name)
	}
	path := strings.Join(names, "/")
	if r.IntN(3) == 0 {
		path += "/"
	}
	return path
}

func TestNil(t *testing.T) {
	for _, file := range []string{"", "\n\n", "# only\r\n", "[", "!", "\\"} {
		l := Parse([]byte(file))
		if l != nil || l.Len() != 0 || l.Match("a", false) != Undecided {
			t.Errorf("%q has patterns", file)
		}
	}
	if n := Parse([]byte("a\n#b\nc")).Len(); n != 2 {
		t.Errorf("%d patterns", n)
	}
}
