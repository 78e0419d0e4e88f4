package ignore

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFoldsCase(t *testing.T) {
	for config, want := range map[string]bool{
		"":                              false,
		"[core]\n\tignorecase = true\n": true,
		"[core]\n\tignoreCase=yes":      true,
		"[Core]\n IGNORECASE = 1 ; as on a Mac\n":   true,
		"[core]\n\tignorecase\n":                    true,
		"[core]\n\tignorecase = false\n":            false,
		"[core]\n\tignorecase =\n":                  false,
		"[core]\nignorecase=true\nignorecase=off\n": false,
		"[remote \"core\"]\n\tignorecase = true\n":  false,
		"[core]\n\tbare\n\tignorecase = true\n":     true,
	} {
		if got := FoldsCase([]byte(config)); got != want {
			t.Errorf("%q: %v", config, got)
		}
	}
}

// foldSamples are lists and paths that differ in case.
func foldSamples() (samples []sample) {
	paths := strings.Fields("build/ BUILD/ Build/x src/BUILD/y a.LOG A.log x/A.Log .DS_Store .ds_store Bin/ bin/ bIN/z Ab aB ab AB 9 \u00c9 \u00e9 X/Y/Z.c x/y/z.C")
	for _, file := range []string{"BUILD/", "build", "*.log", "*.LOG", "*.L?G", ".DS_Store", "[Bb]in/", "[B]in/", "[A-Z]b", "[a-z]B", "[!A]b", "[^a-c]B", "[[:upper:]]b", "[[:lower:]]B", "\\A*", "A*", "/x/**/Z.c", "X/y/*.C", "**/z.c", "*\n!*/\n!A*", "\u00c9", "[[:upper:][:digit:]]*"} {
		samples = append(samples, sample{file, paths})
	}
	return samples
}

// TestFoldLikeGit compares with git where core.ignoreCase is set.
func TestFoldLikeGit(t *testing.T) {
	samples := foldSamples()
	r := rand.New(rand.NewPCG(21, 22))
	mixed := func(s string) string {
		return strings.Map(func(c rune) rune {
			if r.IntN(3) == 0 && c < 0x80 {
				return []rune(strings.ToUpper(string(c)))[0]
			}
			return c
		}, s)
	}
	for range randomLists {
		s := sample{file: mixed(randomPattern(r)) + "\n" + mixed(randomPattern(r))}
		if strings.Contains(s.file, "\xff") || strings.Contains(s.file, "\ufffd") {
			continue // strings.Map changes it
		}
		for range 20 {
			if p := randomPath(r); !strings.Contains(p, "\xff") {
				s.paths = append(s.paths, mixed(p))
			}
		}
		samples = append(samples, s)
	}
	bad := 0
	for i, want := range askGit(t, samples, "core.ignorecase", "true") {
		for j, path := range samples[i].paths {
			if got := foldVerdict(samples[i].file, path); got != want[j] {
				t.Errorf("%q: %q is %v, git says %v", samples[i].file, path, got, want[j])
				if bad++; bad > 20 {
					t.FailNow()
				}
			}
		}
	}
}

// foldVerdict is judge in a repository that ignores case.
func foldVerdict(file, path string) Verdict {
	path, folder := strings.CutSuffix(path, "/")
	f := Top(nil).With(Lists{GitIgnore: Parse([]byte(file)), Fold: true, Repo: true})
	for {
		name, rest, more := strings.Cut(path, "/")
		if v := f.Match(name, more || folder); v == Ignored || !more {
			return v
		}
		f, path = f.Enter(name, Lists{}), rest
	}
}

// TestFoldGitOnly checks that only git's own lists ignore case, and only in the repository
// that does.
func TestFoldGitOnly(t *testing.T) {
	f := Top(parse("global\n")).With(Lists{Ignore: parse("own\n"), GitIgnore: parse("git\n"), Exclude: parse("exclude\n"), Fold: true, Repo: true})
	below := f.Enter("Sub", Lists{GitIgnore: parse("deep\n/top\n")})
	inner := below.Enter("repo", Lists{GitIgnore: parse("inner\n"), Repo: true})
	for _, test := range []struct {
		name                string
		top, below, innerIs bool
	}{{"GIT", true, true, false}, {"Exclude", true, true, false}, {"GLOBAL", true, true, false}, {"OWN", false, false, false}, {"own", true, true, true},
		{"Deep", false, true, false}, {"TOP", false, true, false}, {"INNER", false, false, false}, {"inner", false, false, true}, {"global", true, true, true}} {
		if f.Ignored(test.name, false) != test.top || below.Ignored(test.name, false) != test.below || inner.Ignored(test.name, false) != test.innerIs {
			t.Errorf("%s: %v, %v, %v", test.name, f.Ignored(test.name, false), below.Ignored(test.name, false), inner.Ignored(test.name, false))
		}
	}
}
