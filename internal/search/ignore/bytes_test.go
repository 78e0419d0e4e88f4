package ignore

import (
	_ "embed"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lines holds the lines with wildcards of the templates at github.com/github/gitignore (CC0),
// without those of the form *.ext.
//
//go:embed testdata/lines.txt
var lines string

// quotedByte returns a byte as a part of a pattern that matches it.
func quotedByte(b byte) string {
	if strings.IndexByte(`*?[\!# {},]`, b) >= 0 {
		return `\` + string([]byte{b})
	}
	return string([]byte{b})
}

// TestEveryByteLikeGit tries each byte in each place of patterns that no fixed name and no
// extension selects. A prefilter that takes one byte for another one fails here.
func TestEveryByteLikeGit(t *testing.T) {
	var samples []sample
	form := 0
	for n := 1; n < 256; n++ {
		if n == '/' || n == '\n' {
			continue
		}
		b, q := string([]byte{byte(n)}), quotedByte(byte(n))
		var paths []string
		for _, name := range []string{"Xa", "X.go", "aX.go", "X.a.b", "Xa.b", "XX.X", "a.X", "a.Xb", "a.bX", "Xn.n", "n.nX", "X..a", "X/a.b", "a/X.b"} {
			if path := strings.ReplaceAll(name, "X", b); !dots(path) {
				paths = append(paths, path)
			}
		}
		for _, file := range []string{"X.*", "aX.*", "Xa.*", "X*.X*", "X*.b*", "a*.X*", "*X.?", "*.*X", "a.*\n!X.*", "*\n!X.*", "/X.*", "a/X.*", "**/X*.*", "X/**/*.?", "*.X.*", "?X*.*", "[!X].*"} {
			if strings.Contains(file, "[") && strings.IndexByte("!^]-", byte(n)) >= 0 {
				continue
			}
			if form++; form%byteStep == 0 {
				samples = append(samples, sample{strings.ReplaceAll(file, "X", q), paths})
			}
		}
	}
	compare(t, samples)
}

// TestEveryLetterLikeRipgrep does the same with globs and ripgrep.
func TestEveryLetterLikeRipgrep(t *testing.T) {
	needRipgrep(t)
	dir := t.TempDir() + "/tree"
	var names []string
	for n := byte('!'); n <= '~'; n++ {
		if strings.IndexByte("/", n) < 0 {
			for _, name := range []string{"X.go", "aX.go", "Xa.b", "a.Xb", "X.X.X", "Xa", "a.X"} {
				names = append(names, strings.ReplaceAll(name, "X", string([]byte{n})))
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		write(t, dir+"/"+name, "")
	}
	at := 0
	for n := byte('!'); n <= '~'; n++ {
		if strings.IndexByte("/", n) >= 0 {
			continue
		}
		for _, glob := range []string{"X.*", "aX.*", "X*.X*", "a*.X*", "!X.*", "*X.?o"} {
			if at++; at%globStep == 0 {
				compareGlob(t, dir, names, strings.ReplaceAll(glob, "X", quotedByte(n)))
			}
		}
	}
}

// compareGlob compares the files of a tree without ignore files that a glob selects with
// those that ripgrep selects.
func compareGlob(t *testing.T, dir string, names []string, glob string) {
	t.Helper()
	o, err := Globs([]string{glob})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range names {
		if left(Top(nil), o, name) {
			got = append(got, name)
		}
	}
	want := strings.FieldsFunc(ripgrep(t, dir, "-g", glob), func(r rune) bool { return r == 0 })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s selects %q, ripgrep %q", glob, got, want)
	}
}

// TestTemplatesLikeGit makes paths of each line of the templates: those it matches and those
// that nearly match.
func TestTemplatesLikeGit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var samples []sample
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if i%templateStep != 0 {
			continue
		}
		s := sample{file: line}
		if strings.HasPrefix(line, "!") {
			s.file = "*\n!*/\n" + line
		}
		for range templatePaths {
			if path := matching(r, line); validPath(strings.TrimSuffix(path, "/")) && !dots(path) {
				s.paths = append(s.paths, path)
			}
		}
		samples = append(samples, s)
	}
	compare(t, samples)
}

// dots reports whether a path has a name that git does not take.
func dots(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool {
		return s == "." || s == ".." || strings.EqualFold(s, ".git")
	})
}

// matching returns a path that a pattern matches, or that differs in one byte.
func matching(r *rand.Rand, pattern string) string {
	fill := func(of ...string) string { return of[r.IntN(len(of))] }
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "!"), "/")
	var b strings.Builder
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			n := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], "*"))
			if i += n; n > 1 {
				b.WriteString(fill("a", "a/b", "n.n/x", "main"))
			} else {
				b.WriteString(fill("", "a", "n", "n.n", "x-1.2", "main", ".", "\xc3\xae"))
			}
		case '?':
			b.WriteString(fill("a", "n", ".", "x"))
			i++
		case '\\':
			i++
		case '[':
			set, n, _, fault := parseClass(pattern[i:], false)
			if fault != "" {
				return ""
			}
			for range 1000 {
				if m := byte(1 + r.IntN(126)); set.has(m) && m != '\n' {
					b.WriteByte(m)
					break
				}
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	path := b.String()
	if at := r.IntN(len(path) + 1); r.IntN(3) == 0 && at < len(path) {
		path = path[:at] + fill("", "n", ".", "x") + path[at+1:]
	}
	return fill("", "", "", "sub/") + path
}

// TestTemplatesLikeRipgrep does the same with ripgrep, for lines that both interpret alike.
func TestTemplatesLikeRipgrep(t *testing.T) {
	needRipgrep(t)
	r := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir() + "/tree"
	var want []string
	n := 0
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if i%templateStep == 0 && line == strings.TrimPrefix(line, "!") && !strings.ContainsAny(line, "[{") { // see TestRipgrepDiffers
			n++
			at := dir + "/" + strconv.Itoa(n)
			write(t, at+"/.gitignore", line+"\n")
			l := Parse([]byte(line))
			for range templatePaths {
				path := strings.TrimSuffix(matching(r, line), "/")
				if !validPath(path) || dots(path) || strings.HasSuffix(path, ".gitignore") || strings.HasSuffix(path, "ignore") {
					continue
				}
				if os.MkdirAll(filepath.Dir(at+"/"+path), 0o777) != nil {
					continue // a file is in the way
				}
				if _, err := os.Lstat(at + "/" + path); err == nil || os.WriteFile(at+"/"+path, nil, 0o666) != nil {
					continue
				}
				if judge(l, path) != Ignored {
					want = append(want, strconv.Itoa(n)+"/"+path)
				}
			}
			if l.Match(".gitignore", false) != Ignored {
				want = append(want, strconv.Itoa(n)+"/.gitignore")
			}
		}
	}
	got := strings.FieldsFunc(ripgrep(t, dir, "--no-require-git"), func(r rune) bool { return r == 0 })
	slices.Sort(want)
	slices.Sort(got)
	for _, p := range got {
		if _, found := slices.BinarySearch(want, p); !found {
			at, _, _ := strings.Cut(p, "/")
			file, _ := os.ReadFile(dir + "/" + at + "/.gitignore")
			t.Errorf("%q: %q is ignored, but not by ripgrep", file, p)
		}
	}
	for _, p := range want {
		if _, found := slices.BinarySearch(got, p); !found {
			at, _, _ := strings.Cut(p, "/")
			file, _ := os.ReadFile(dir + "/" + at + "/.gitignore")
			t.Errorf("%q: %q is left, but ripgrep ignores it", file, p)
		}
	}
	if len(want) < n/2 {
		t.Errorf("only %d paths are left", len(want))
	}
}
