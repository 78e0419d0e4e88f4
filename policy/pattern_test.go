package policy

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var base = Base{Dir: "/ws", Root: "/cfg", Home: "/home/u"}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPathPattern(t *testing.T) {
	for _, c := range []struct{ pattern, in, out string }{
		{"a", "/ws/a /ws/x/a /ws/a/b /ws/x/a/b/c", "/ws /ws/ab /ws/ba /a /ws2/a"},
		{"./a", "/ws/a /ws/a/b", "/ws/x/a"},
		{"a/b", "/ws/a/b /ws/a/b/c", "/ws/x/a/b /ws/a /ws/a/bb"},
		{"a/", "/ws/a /ws/a/b /ws/x/a/b", "/ws/aa/b"},
		{"a/**", "/ws/a /ws/a/b /ws/a/b/c", "/ws/x/a/b /ws/aa"},
		{"a/**/", "/ws/a/b/c", "/ws/x/a"},
		{"**/a", "/ws/a /ws/x/y/a", "/ws/xa"},
		{"**/a/b", "/ws/a/b /ws/x/y/a/b/c", "/ws/a/x/b"},
		{"a/**/b", "/ws/a/b /ws/a/x/y/b/c", "/ws/x/a/b /ws/a/x"},
		{"a/***/b", "/ws/a/b /ws/a/x/y/b", "/ws/b"},
		{"a/**/b/**/c", "/ws/a/b/c /ws/a/b/b/x/c /ws/a/x/b/y/z/c", "/ws/a/c/b /ws/a/c"},
		{"./**/a", "/ws/a /ws/x/a", "/a"},
		{"a**b", "/ws/ab /ws/axb /ws/x/ab", "/ws/a/b"},
		{"**", "/ws /ws/a /ws/a/b", "/ /ws2"},
		{".", "/ws /ws/a", "/ws2"},
		{"./", "/ws /ws/a", "/"},
		{"*", "/ws/a /ws/.a /ws/a/b", "/ws"},
		{"//", "/ /a /ws", ""},
		{"//**", "/ /a/b", ""},
		{"//a/b", "/a/b /a/b/c", "/ws/a/b /a"},
		{"///a//b/./c", "/a/b/c", "/a/b"},
		{"~", "/home/u /home/u/a", "/home/u2 /home"},
		{"~/", "/home/u/a", "/home"},
		{"~/a", "/home/u/a", "/home/u/x/a"},
		{"~a", "/ws/~a /ws/x/~a", "/home/u/a"},
		{`\~/a`, "/ws/~/a", "/home/u/a"},
		{"/a", "/cfg/a /cfg/a/b", "/a /ws/a /cfg/x/a"},
		{"/", "/cfg /cfg/a", "/ws"},
		{"*.go", "/ws/a.go /ws/x/.go", "/ws/a.gox /ws/ago"},
		{"a*", "/ws/a /ws/ab /ws/x/ab/c", "/ws/ba"},
		{"a?c", "/ws/abc /ws/aéc /ws/a漢c", "/ws/ac /ws/a/c /ws/abbc"},
		{"[a-c]x", "/ws/ax /ws/cx", "/ws/dx /ws/x"},
		{"[!a-c]x", "/ws/dx", "/ws/ax /ws//x"},
		{"[^a]x", "/ws/bx", "/ws/ax"},
		{"[]a]x", "/ws/]x /ws/ax", "/ws/bx"},
		{"[!]a]x", "/ws/bx", "/ws/]x /ws/ax"},
		{`[\]a]x`, "/ws/]x /ws/ax", "/ws/bx"},
		{"[a-]x", "/ws/ax /ws/-x", "/ws/bx"},
		{"[{}[]x", "/ws/{x /ws/[x", "/ws/x"},
		{"[!x]", "/ws/a/b", "/ws/x"},
		{"a[!b]c", "/ws/axc", "/ws/a/c"},
		{"{a,b}", "/ws/{a,b}", "/ws/a /ws/b"},
		{"{a", "/ws/{a", "/ws/a"},
		{`\*`, "/ws/*", "/ws/a"},
		{`a\?b`, "/ws/a?b", "/ws/axb"},
		{`\!a`, "/ws/!a", "/ws/a"},
		{"#a", "/ws/#a", "/ws/a"},
		{`a\\b`, `/ws/a\b`, "/ws/ab"},
		{"*a*b*", "/ws/ab /ws/xaybz", "/ws/ba"},
		{"*.*", "/ws/a.b /ws/.", "/ws/ab"},
	} {
		match, err := PathPattern(c.pattern, base)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for want, paths := range map[bool]string{true: c.in, false: c.out} {
			for _, path := range strings.Fields(paths) {
				if path == "/ws/." {
					continue // Clean turns it into the folder
				}
				if match(path) != want {
					t.Errorf("%s on %s: %v, want %v", c.pattern, path, !want, want)
				}
			}
		}
	}
	match, _ := PathPattern("a", base)
	if match("a") || match("") || !match("/ws/b/../a/") {
		t.Error("a path that is not absolute is covered, or one that is not clean is not cleaned")
	}
}

func TestPathPatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"":         `compiling pattern "": the pattern is empty`,
		"!a":       `compiling pattern !a: a pattern cannot begin with "!"`,
		"[a":       `compiling pattern [a: a [ in it is not closed`,
		"[]":       `compiling pattern []: a [ in it is not closed`,
		"a/[b/c]":  `compiling pattern a/[b/c]: a [ in it is not closed`,
		"[[:a:]]":  `compiling pattern [[:a:]]: a named character class such as [:alpha:] is not supported`,
		`a\`:       `compiling pattern a\: a part of it ends in a backslash`,
		"../a":     `compiling pattern ../a: ".." is not supported; write the folder from the file-system root, with //`,
		`a/\.\.`:   `compiling pattern a/\.\.: ".." is not supported; write the folder from the file-system root, with //`,
		"~bob/a":   `compiling pattern ~bob/a: the home folder of another user is not supported; write it from the file-system root, with //`,
		" a":       `compiling pattern  a: the pattern begins or ends with a space; escape one that is meant with "\"`,
		"a ":       `compiling pattern a : the pattern begins or ends with a space; escape one that is meant with "\"`,
		"a\u200b":  `compiling pattern "a\u200b": it holds '\u200b', a character that does not show`,
		"a\x00":    `compiling pattern "a\x00": it holds '\x00', a character that does not show`,
		"a\xffb":   `compiling pattern "a\xffb": it holds '\ufffd', a character that does not show`,
		"a\u202eb": `compiling pattern "a\u202eb": it holds '\u202e', a character that does not show`,
	} {
		if _, err := PathPattern(pattern, base); err == nil || err.Error() != want {
			t.Errorf("%q\nwant %s\nhave %v", pattern, want, err)
		}
	}
	if _, err := PathPattern(strings.Repeat("a", maxPattern+1), base); err == nil {
		t.Error("a long pattern is accepted")
	}
	for _, pattern := range []string{"a", "./a", "/a", "~/a"} {
		if _, err := PathPattern(pattern, Base{}); err == nil || !strings.HasSuffix(err.Error(), errNoAnchor.Error()) {
			t.Errorf("%s without folders: %v", pattern, err)
		}
	}
	if match, err := PathPattern(`a\ `, base); err != nil || !match("/ws/a ") {
		t.Error("an escaped space at the end is not taken")
	}
}

// slowMatch is the obvious implementation: it tries every beginning of the path, by
// recursion.
func slowMatch(pattern, path string) bool {
	dir, anchored := "/ws", strings.Contains(strings.TrimRight(pattern, "/"), "/")
	switch {
	case strings.HasPrefix(pattern, "//"):
		dir, pattern, anchored = "/", pattern[2:], true
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		dir, pattern, anchored = "/home/u", pattern[1:], true
	case pattern[0] == '/':
		dir, anchored = "/cfg", true
	case pattern == "." || strings.HasPrefix(pattern, "./"):
		anchored = true
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return false
	}
	var want, have []string
	for _, s := range strings.Split(pattern, "/") {
		if s != "" && s != "." {
			want = append(want, s)
		}
	}
	if !anchored {
		want = append([]string{"**"}, want...)
	}
	if rel != "." {
		have = strings.Split(rel, "/")
	}
	for i := 0; i <= len(have); i++ {
		if slowSegments(want, have[:i]) {
			return true
		}
	}
	return false
}

func slowSegments(want, have []string) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	if len(want[0]) > 1 && strings.Trim(want[0], "*") == "" {
		return slowSegments(want[1:], have) || len(have) > 0 && slowSegments(want, have[1:])
	}
	return len(have) > 0 && slowName([]rune(want[0]), []rune(have[0])) && slowSegments(want[1:], have[1:])
}

func slowName(want, have []rune) bool {
	switch {
	case len(want) == 0:
		return len(have) == 0
	case want[0] == '*':
		return slowName(want[1:], have) || len(have) > 0 && slowName(want, have[1:])
	case len(have) == 0:
		return false
	case want[0] == '[':
		in, rest := slowClass(want[1:], have[0])
		return in && slowName(rest, have[1:])
	case want[0] == '\\':
		want = want[1:]
	case want[0] == '?':
		return slowName(want[1:], have[1:])
	}
	return want[0] == have[0] && slowName(want[1:], have[1:])
}

func slowClass(class []rune, r rune) (in bool, rest []rune) {
	not := class[0] == '!' || class[0] == '^'
	if not {
		class = class[1:]
	}
	next := func() rune {
		if class[0] == '\\' {
			class = class[1:]
		}
		c := class[0]
		class = class[1:]
		return c
	}
	for first := true; first || class[0] != ']'; first = false {
		lo := next()
		hi := lo
		if class[0] == '-' && class[1] != ']' {
			class = class[1:]
			hi = next()
		}
		in = in || r == lo || lo <= r && r <= hi // git, too, matches lo in a reversed range
	}
	return in != not, class[1:]
}

func FuzzPathPattern(f *testing.F) {
	for _, seed := range []string{"a", "./a/**", "**/a", "//a/*/b", "~/x[!a-c]?", "/a/**/b/", `\*{a,b}`, "[]a]", "a**b", "[a-b-c]", `[\a-\c]`, "[!]-a]", "a/./b//c"} {
		f.Add(seed, "/ws/a/b")
		f.Add(seed, "/home/u/xa")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		match, err := PathPattern(pattern, base)
		if err != nil {
			return
		}
		path = filepath.Clean("/" + path)
		got := match(path)
		// slowMatch takes time exponential in the number of stars, and invalid UTF-8 has no
		// characters to compare.
		if strings.Count(pattern, "*") > 5 || len(path) > 40 || !utf8.ValidString(path) || strings.Contains(path, "\ufffd") {
			return
		}
		if want := slowMatch(pattern, path); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, path, got, want)
		}
	})
}

// words returns a random string of pieces.
func words(random *rand.Rand, most int, pieces ...string) string {
	var b strings.Builder
	for range 1 + random.IntN(most) {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// TestRandomPatterns compares random patterns with slowMatch. Their alphabet is small,
// so that matches are common.
func TestRandomPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	matched := 0
	for range 100_000 {
		pattern := words(random, 7, "a", "b", "/", "/", "*", "**", "?", "[ab]", "[!a]", `\a`, "./", "**/")
		path := filepath.Clean("/ws/" + words(random, 8, "a", "b", "/", "ab", "/a"))
		match, err := PathPattern(pattern, base)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		got := match(path)
		if got {
			matched++
		}
		if want := slowMatch(pattern, path); got != want {
			t.Fatalf("%s on %s: %v, want %v", pattern, path, got, want)
		}
	}
	if matched < 10_000 {
		t.Errorf("only %d matches", matched)
	}
}

// TestAgainstGit compares patterns with git's interpretation. It leaves out patterns
// that end in a slash or in /**. They differ on purpose: here they also cover the path
// itself, because it is unknown whether the path is a folder.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is the judge of this test, and is not installed")
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		pattern := words(random, 6, "a", "b", "/", "*", "**/", "?", "[ab]", "[!a]", `\a`, "[]b]", "{a,b}")
		if strings.Contains(pattern, "//") || strings.HasSuffix(pattern, "/") || strings.Contains(pattern, "***") || pattern[0] == '/' {
			continue
		}
		match, err := PathPattern(pattern, base)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		var paths []string
		for range 60 {
			if path := filepath.Clean("/" + words(random, 6, "a", "b", "/", "ab")); path != "/" {
				paths = append(paths, path[1:])
			}
		}
		ignored := gitIgnored(t, pattern, paths)
		for _, path := range paths {
			if got := match("/ws/" + path); got != ignored[path] {
				t.Errorf("%s on %s: %v, git says %v", pattern, path, got, ignored[path])
			}
		}
	}
}

// gitIgnored returns the paths that git ignores with a .gitignore of one line.
func gitIgnored(t *testing.T, pattern string, paths []string) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	writeFile(t, filepath.Join(dir, ".git", "info", "exclude"), pattern+"\n")
	cmd := exec.Command("git", "-C", dir, "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00"))
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v", err)
	}
	ignored := map[string]bool{}
	for path := range bytes.SplitSeq(out, []byte{0}) {
		ignored[string(path)] = true
	}
	return ignored
}
