package ignore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// list returns the files that a walk of dir finds, including hidden ones, without .git.
func list(t *testing.T, dir string) []string {
	t.Helper()
	getenv := func(string) string { return "" }
	f, _ := Above(dir, Global(home(dir), getenv, os.ReadFile), os.ReadFile)
	f = f.With(listsOf(dir, os.ReadFile))
	var files []string
	var walk func(f *Folder, path string)
	walk = func(f *Folder, path string) {
		entries, err := os.ReadDir(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			at := path + e.Name()
			switch {
			case e.Name() == ".git" || f.Ignored(e.Name(), e.IsDir()):
			case e.IsDir():
				walk(f.Enter(e.Name(), listsOf(filepath.Join(dir, at), os.ReadFile)), at+"/")
			default:
				files = append(files, at)
			}
		}
	}
	walk(f, "")
	slices.Sort(files)
	return files
}

// grower makes a random tree.
type grower struct {
	t       *testing.T
	r       *rand.Rand
	names   []string // of files and folders
	parts   []string // of patterns
	lists   []string // names of ignore files
	nested  bool     // with repositories inside
	written []string // ignore files, for the report of a failure
}

func (g *grower) patterns() string {
	var b strings.Builder
	for range 1 + g.r.IntN(5) {
		for range 1 + g.r.IntN(4) {
			b.WriteString(g.parts[g.r.IntN(len(g.parts))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (g *grower) list(path string) { g.keep(path, g.patterns()) }

// own writes the user's own list. For ripgrep an anchored pattern in it is relative to
// the current folder; for git and this package it is relative to the top of the
// repository of the file. So if there are repositories inside, the list has no such
// pattern.
func (g *grower) own(path string) {
	lines := strings.Split(g.patterns(), "\n")
	if g.nested {
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "/") })
	}
	g.keep(path, strings.Join(lines, "\n"))
}

func (g *grower) keep(path, text string) {
	g.written = append(g.written, fmt.Sprintf("%s: %q", path, text))
	write(g.t, path, text)
}

func (g *grower) folder(dir string, depth int) {
	write(g.t, filepath.Join(dir, "a"), "")
	for _, name := range g.lists {
		if depth == 0 || g.r.IntN(3) == 0 {
			g.list(filepath.Join(dir, name))
		}
	}
	if g.nested && depth > 0 && g.r.IntN(6) == 0 {
		g.list(filepath.Join(dir, ".git", "info", "exclude"))
		write(g.t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	}
	for range 3 + g.r.IntN(6) {
		path := filepath.Join(dir, g.names[g.r.IntN(len(g.names))]+g.names[g.r.IntN(len(g.names))])
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if depth < 3 && g.r.IntN(5) < 2 {
			g.folder(path, depth+1)
		} else {
			write(g.t, path, "")
		}
	}
}

// grow makes the tree, its repository and its user's configuration.
func (g *grower) grow(seed uint64) (dir string) {
	g.r = rand.New(rand.NewPCG(seed, 7))
	g.written = nil
	dir = filepath.Join(g.t.TempDir(), "tree")
	g.folder(dir, 0)
	git(g.t, dir, nil, "init", "-q")
	g.list(filepath.Join(dir, ".git", "info", "exclude"))
	if g.r.IntN(2) == 0 {
		write(g.t, filepath.Join(home(dir), ".gitconfig"), "[core]\n\texcludesFile = ~/mine\n")
		g.own(filepath.Join(home(dir), "mine"))
	} else {
		g.own(filepath.Join(home(dir), ".config", "git", "ignore"))
	}
	return dir
}

func (g *grower) compare(dir string, seed uint64, want string) {
	g.t.Helper()
	wanted := strings.FieldsFunc(want, func(r rune) bool { return r == 0 })
	slices.Sort(wanted)
	got := list(g.t, dir)
	if slices.Equal(got, wanted) {
		return
	}
	for _, p := range got {
		if !slices.Contains(wanted, p) {
			g.t.Errorf("seed %d: %q is left, but should be ignored", seed, p)
		}
	}
	for _, p := range wanted {
		if !slices.Contains(got, p) {
			g.t.Errorf("seed %d: %q is ignored", seed, p)
		}
	}
	g.t.Fatalf("lists:\n%s", strings.Join(g.written, "\n"))
}

func TestTreesLikeGit(t *testing.T) {
	g := grower{
		t:     t,
		names: strings.Split("a|b|c|.o|.c| |\u00e9|*|#|!|[|-|\xff", "|"),
		parts: strings.Split("a|b|c|.o|*.c|!|!|/|/|*|*|**/|/**|?|[ab]|[!a]|[[:alpha:]]|\\|\\*|\\ |\u00e9|#|\r|\xff", "|"),
		lists: []string{".gitignore"},
	}
	for seed := range uint64(randomTrees) {
		dir := g.grow(seed)
		g.compare(dir, seed, git(t, dir, nil, "ls-files", "-co", "--exclude-standard", "-z"))
	}
}

// needRipgrep returns the path of rg or skips the test.
func needRipgrep(t *testing.T) string {
	t.Helper()
	if rg := os.Getenv("RIPGREP"); rg != "" {
		return rg
	}
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("no ripgrep: ", err)
	}
	return rg
}

// ripgrep runs rg in dir or skips the test.
func ripgrep(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(needRipgrep(t), append([]string{"--no-config", "--files", "--hidden", "-0", "--no-messages"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home(dir), "XDG_CONFIG_HOME="+filepath.Join(home(dir), ".config"))
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && !(ok && exit.ExitCode() <= 2) {
		t.Fatalf("rg: %v", err)
	}
	return string(out)
}

// TestTreesLikeRipgrep uses only patterns that git and ripgrep interpret alike. (For
// ripgrep a class such as [!a] may match a slash, for git it never does.)
// TestRipgrepDiffers has the others.
func TestTreesLikeRipgrep(t *testing.T) {
	g := grower{
		t:     t,
		names: strings.Split("a|b|c|.o|.c|\u00e9|-|#", "|"),
		parts: strings.Split("a|b|c|.o|*.c|a|b|[ab]|?|*|\u00e9|\n!a|\n!*b|\n/b|/a|a/|/*b|\n**/c|\\*|\n!*/\n", "|"),
		lists: []string{".gitignore", ".ignore", ".rgignore"},
	}
	for seed := range uint64(randomTrees) {
		// With --no-require-git, ripgrep does not look for .git. So it does not notice
		// a repository inside a repository.
		args := []string{"-g", "!.git"}
		if g.nested = seed%2 == 0; !g.nested {
			args = append(args, "--no-require-git")
		}
		dir := g.grow(seed)
		g.compare(dir, seed, ripgrep(t, dir, args...))
	}
}
