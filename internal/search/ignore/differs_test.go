package ignore

import (
	"slices"
	"strings"
	"testing"
)

// differs lists patterns of a .gitignore that ripgrep 15 interprets differently from
// git. The package follows git, in .ignore files too: there is one syntax.
//
// In addition, with --no-require-git ripgrep ignores that a repository is inside a
// repository (see TestTreesLikeRipgrep), and its core.excludesFile is relative to the
// current folder.
var differs = []struct {
	file, path string
	git        Verdict
	why        string
}{
	{"{a,b}", "a", Undecided, "ripgrep expands braces"},
	{"{a", "{a", Ignored, "ripgrep refuses an unclosed brace"},
	{"a**/b", "ab", Ignored, "git takes ** after the literal beginning as alone"},
	{"[[:digit:]]x", "1x", Ignored, "ripgrep has no POSIX classes"},
	{"a[z-ab]", "ab", Ignored, "ripgrep refuses a range that runs backwards"},
	{"x\t", "x", Undecided, "ripgrep trims all white space"},
	{"y\\  ", "y ", Ignored, "ripgrep trims before it looks at the quote"},
	{"\xffq\nz", "z", Ignored, "ripgrep reads no further than a line that is not UTF-8"},
	{"w\x00v", "w", Ignored, "git's lines end at a NUL"},
}

func TestRipgrepDiffers(t *testing.T) {
	var samples []sample
	for _, test := range differs {
		if got := judge(parse(test.file), test.path); got != test.git {
			t.Errorf("%q: %q is %v", test.file, test.path, got)
		}
		samples = append(samples, sample{test.file, []string{test.path}})
		dir := t.TempDir() + "/tree"
		write(t, dir+"/"+test.path, "")
		write(t, dir+"/.gitignore", test.file)
		found := strings.Split(ripgrep(t, dir, "--no-require-git"), "\x00")
		if slices.Contains(found, test.path) == (test.git == Undecided) {
			t.Errorf("%q: %q: ripgrep agrees (%s)", test.file, test.path, test.why)
		}
	}
	compare(t, samples)
}
