package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/search/match"
)

// Intended differences from ripgrep, and how the comparison accounts for them:
//   - A binary file is left out of names and counts wherever its NUL is, and yields one
//     line in Lines. ripgrep lists a file whose match is found before the NUL, and
//     prints the lines before it. So it runs with --text, and its results for binary
//     files are replaced.
//   - A carriage return is white space and is matched by a dot, as in ripgrep without
//     --crlf, and yet $ matches before it at the end of a line, as with --crlf. So on
//     texts with carriage returns only patterns are tried that cannot match one.
//   - A carriage return without a newline after it does not end a line. For the anchors
//     of ripgrep with --crlf it does. So there is none.
//   - A carriage return at the end of a line is not shown.
//   - Counts of a pattern that spans lines are of lines; ripgrep's are of matches.
//   - Entries called .git, .jj, .hg or .svn are skipped; flags make ripgrep do the
//     same.
//   - The .gitignore files around a repository do not apply inside it, as in git and in
//     ripgrep without --no-require-git. So .git is only at the top.
//   - An ignore file that is a link is not read: there is none in the trees.
//   - \A and \z match at the ends of the text. In ripgrep without -U they match at the
//     ends of the part it looks at, and with -U \A also matches where it continues
//     after a match. So they are tried with -U only, and \A for names only.
//   - An empty match shows nothing if only the matches are shown.
//   - Grep does not show lines around a match if only the matches are shown, where
//     ripgrep does: users of that option want a list. So the two are not combined.
//   - Grep's glob chooses among the files that are not ignored, while ripgrep's -g also
//     includes ignored ones: *.js should find a project's files and not those in
//     node_modules. See TestPickLikeRipgrep of tools/grep.

// asked is a query for both programs.
type asked struct {
	pattern       string
	fold, multi   bool
	before, after int
	parts         bool
	mode          Mode
	offset, limit int
}

func (k asked) String() string {
	return fmt.Sprintf("mode %d fold %t multi %t parts %t -B %d -A %d %q", k.mode, k.fold, k.multi, k.parts, k.before, k.after, k.pattern)
}

func (k asked) query(t testing.TB) *Query {
	t.Helper()
	m, err := match.Compile(k.pattern, match.Options{Fold: k.fold, Multiline: k.multi})
	if err != nil {
		t.Fatalf("%q: %v", k.pattern, err)
	}
	return &Query{Match: m, Mode: k.mode, Before: k.before, After: k.after, Parts: k.parts, Offset: k.offset, Limit: k.limit,
		Line: quotedLine, Binary: func(dst []byte, path string) []byte { return append(strconv.AppendQuote(dst, path), " binary\n"...) }}
}

// quotedLine formats a line so that any path and any text can be distinguished.
func quotedLine(dst []byte, path string, n int, text []byte, at int) []byte {
	sep := "-"
	if at >= 0 {
		sep = ":"
	}
	return fmt.Appendf(dst, "%q%s%d%s%q\n", path, sep, n, sep, text)
}

// atoms are parts of patterns. Those in crAtoms can match a carriage return.
var (
	atoms   = []string{"foo", "bar", "o", "x", "FooBar", "return", "k", "s", "Foo", "(?i:bar)", `\w+`, `\w`, `\d`, "[a-f]", "[a-z]+", "^", "$", `\b`, "--", `\(`, "zz", "(?i)k", "end\\.", "_id", `\pL`, "é", "(?:foo|bar)", "b?", "(?:func|return|x)"}
	crAtoms = []string{".", ".*", `\s`, `\s+`, `\W`, "[^a]", `[^\w\s]`, `\B`}
	spans   = []string{`\n`, `\n+`, `\s+`, "(?s:.)", `(?s:.*?)`, `\A`, `\z`, `[^x]*`, `\n\n`, `o\n`, `\nfoo`, "(?:\n|x)"}
)

func (f *forest) pattern(multi bool) string {
	var b strings.Builder
	for range 1 + f.IntN(3) {
		switch {
		case multi && f.one(2):
			b.WriteString(pick(f, spans...))
		case !f.cr && f.one(3):
			b.WriteString(pick(f, crAtoms...))
		default:
			b.WriteString(pick(f, atoms...))
		}
	}
	if f.one(6) {
		return b.String() + "|" + pick(f, atoms...)
	}
	return b.String()
}

func (f *forest) ask() asked {
	k := asked{mode: Mode(f.IntN(3)), fold: f.one(4), multi: !f.cr && f.one(4)}
	fresh := f.fresh != "" && f.one(3)
	for {
		if k.pattern = f.fresh; !fresh {
			k.pattern = f.pattern(k.multi)
		}
		if begin := strings.Contains(k.pattern, `\A`); !begin || k.mode == Names {
			break
		}
	}
	if k.mode == Lines {
		switch f.IntN(4) {
		case 0:
			k.parts = !f.huge // otherwise they may exceed the limit of an answer
		case 1:
			k.before, k.after = f.IntN(4), f.IntN(4)
		}
	}
	return k
}

// rg runs ripgrep.
type rg struct {
	t    testing.TB
	path string
	dir  string
	cr   bool
}

const noRg = "ripgrep is neither in PATH nor named by RIPGREP"

func newRg(t testing.TB, f *forest) rg {
	path := rgPath()
	if path == "" {
		t.Skip(noRg)
	}
	return rg{t, path, f.dir, f.cr}
}

// run returns the output of ripgrep. It treats no file as binary, which makes no
// difference for text files. It uses one thread, which is faster on a small tree.
func (r rg) run(k asked, flags ...string) []byte {
	r.t.Helper()
	args := []string{"--no-config", "--hidden", "--no-require-git", "--sort", "none", "--null", "--no-mmap", "--text", "--threads", "1", "-g", "!.git", "-g", "!.jj", "-g", "!.hg", "-g", "!.svn"}
	if r.cr {
		args = append(args, "--crlf")
	}
	if k.fold {
		args = append(args, "-i")
	}
	if k.multi {
		args = append(args, "-U", "--multiline-dotall")
	}
	cmd := exec.Command(r.path, append(append(args, flags...), "-e", k.pattern, ".")...)
	cmd.Dir = r.dir
	cmd.Env = []string{"HOME=" + r.dir + "/.none"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		r.t.Fatalf("rg %q: %v: %s", cmd.Args, err, &stderr)
	}
	return out
}

// want returns the expected results of each file, in the form of our lines. They are
// those of all files treated as text, with the results of binary files replaced.
func (r rg) want(k asked) map[string][]string {
	all := map[string][]string{}
	switch {
	case k.mode == Names:
		for p := range strings.SplitSeq(strings.TrimSuffix(string(r.run(k, "-l")), "\x00"), "\x00") {
			if p != "" {
				p = strings.TrimPrefix(p, "./")
				all[p] = []string{strconv.Quote(p)}
			}
		}
	case k.mode == Counts && !k.multi:
		out := r.run(k, "-c")
		for len(out) > 0 {
			p, rest, _ := bytes.Cut(out, []byte{0})
			n, next, _ := bytes.Cut(rest, []byte{'\n'})
			n = bytes.TrimSuffix(n, []byte{'\r'}) // with --crlf
			path := strings.TrimPrefix(string(p), "./")
			all[path], out = []string{fmt.Sprintf("%q %s", path, n)}, next
		}
	case k.mode == Counts:
		for p, lines := range r.lines(k) {
			all[p] = []string{fmt.Sprintf("%q %d", p, len(lines))}
		}
	default:
		all = r.lines(k)
	}
	for p := range all {
		switch {
		case !isBinary(r.t, filepath.Join(r.dir, p)):
			if len(all[p]) == 0 { // only empty matches, which show nothing
				delete(all, p)
			}
		case k.mode == Lines:
			all[p] = []string{strconv.Quote(p) + " binary"}
		default:
			delete(all, p)
		}
	}
	return all
}

// message is a line of rg --json.
type message struct {
	Type string
	Data struct {
		Path, Lines bytesOrText
		Number      int `json:"line_number"`
		Submatches  []struct{ Start, End int }
	}
}

type bytesOrText struct {
	Text  string
	Bytes []byte
}

func (b bytesOrText) String() string { return b.Text + string(b.Bytes) }

// lines returns the lines shown of each file.
func (r rg) lines(k asked) map[string][]string {
	all, last := map[string][]string{}, map[string]int{}
	show := func(path string, n int, text string, hit bool) {
		if k.before+k.after > 0 && last[path] > 0 && n > last[path]+1 {
			all[path] = append(all[path], "--")
		}
		last[path] = n
		at := -1
		if hit {
			at = 0
		}
		line := quotedLine(nil, path, n, []byte(strings.TrimSuffix(text, "\r")), at)
		all[path] = append(all[path], strings.TrimSuffix(string(line), "\n"))
	}
	if k.parts {
		r.parts(k, func(path string) {
			if all[path] == nil { // a binary file matches, even if it shows nothing
				all[path] = []string{}
			}
		}, show)
		return all
	}
	out := string(r.run(k, "-n", "-H", "--no-heading", "--no-context-separator", "-B", strconv.Itoa(k.before), "-A", strconv.Itoa(k.after)))
	for out != "" {
		path, rest, _ := strings.Cut(out, "\x00")
		line, next, _ := strings.Cut(rest, "\n")
		at := strings.IndexAny(line, ":-")
		n, err := strconv.Atoi(line[:max(at, 0)])
		if err != nil {
			r.t.Fatalf("%q of rg's answer: %v", line, err)
		}
		show(strings.TrimPrefix(path, "./"), n, line[at+1:], line[at] == ':')
		out = next
	}
	return all
}

// parts calls match for each match, and show for its part of each line, if that is not
// empty.
func (r rg) parts(k asked, match func(path string), show func(path string, n int, text string, hit bool)) {
	dec := json.NewDecoder(bytes.NewReader(r.run(k, "--json")))
	for dec.More() {
		var m message
		if err := dec.Decode(&m); err != nil {
			r.t.Fatal(err)
		}
		if m.Type != "match" {
			continue
		}
		path, text := strings.TrimPrefix(m.Data.Path.String(), "./"), m.Data.Lines.String()
		match(path)
		for _, s := range m.Data.Submatches {
			n := m.Data.Number + strings.Count(text[:s.Start], "\n")
			for piece := range strings.SplitSeq(text[s.Start:s.End], "\n") {
				if piece != "" {
					show(path, n, piece, true)
				}
				n++
			}
		}
	}
}

// isBinary reports whether a text, decoded, has a NUL.
func isBinary(t testing.TB, path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")) {
		for i := 2; i+1 < len(data); i += 2 {
			if data[i] == 0 && data[i+1] == 0 {
				return true
			}
		}
		return false
	}
	return bytes.IndexByte(data, 0) >= 0
}

// got returns the results of each file in an answer. Other tests check the order.
func got(t testing.TB, k asked, a *Answer) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, f := range a.Files {
		line := strconv.Quote(f.Path)
		if k.mode == Counts {
			line += " " + strconv.Itoa(f.Lines)
		}
		all[f.Path] = append(all[f.Path], line)
	}
	last, gap := "", false
	for line := range strings.Lines(string(a.Text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "--" {
			if gap {
				t.Fatalf("%v: two gaps", k)
			}
			gap = true
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatal(err)
		}
		path, _ := strconv.Unquote(quoted)
		context := k.before+k.after > 0 && !strings.HasSuffix(line, " binary")
		switch {
		case gap && path == last:
			all[path] = append(all[path], "--")
		case path != last && last != "" && context && !gap, !context && gap:
			t.Fatalf("%v: gap is %t before %s", k, gap, line)
		case path != last && all[path] != nil:
			t.Fatalf("%v: %s comes twice", k, path)
		}
		all[path] = append(all[path], line)
		last, gap = path, false
	}
	if a.Incomplete != "" || a.Unreadable > 0 || a.More {
		t.Fatalf("%v: incomplete %q, %d unreadable, more %t", k, a.Incomplete, a.Unreadable, a.More)
	}
	total := 0
	for _, lines := range all {
		total += len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return l == "--" }))
	}
	if total != a.Total || a.Matched != len(all) {
		t.Fatalf("%v: %d entries of %d files, Total %d, Matched %d", k, total, len(all), a.Total, a.Matched)
	}
	return all
}

// differ returns the result of cmp.Diff, which is slow for equal values.
func differ(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func search(t testing.TB, s *Searcher, dir string, q *Query) *Answer {
	t.Helper()
	a, err := s.Tree(dir, opener(dir)).Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func options(index int64, dir string) Options {
	return Options{Index: index, Home: filepath.Join(dir, ".none"), Getenv: func(string) string { return "" }}
}

// eachSeed runs a test for some seeds, as many at once as there are processors.
func eachSeed(t *testing.T, seeds int, test func(t *testing.T, seed uint64)) {
	t.Run("seed", func(t *testing.T) { // ends when all have
		for seed := range uint64(seeds) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				test(t, seed)
			})
		}
	})
}

// TestRipgrep compares with ripgrep: file sets, lines, counts.
func TestRipgrep(t *testing.T) {
	const each = 10 // queries per tree
	if rgPath() == "" {
		t.Skip(noRg)
	}
	var hits atomic.Int64
	eachSeed(t, rgCases/each, func(t *testing.T, seed uint64) {
		f := newForest(t, seed)
		f.big = rgCases > 100
		f.grow()
		theirs := newRg(t, f)
		ours := New(options(-1, f.dir))
		defer ours.Close()
		for range each {
			k := f.ask()
			want := theirs.want(k)
			hits.Add(int64(len(want)))
			if diff := differ(want, got(t, k, search(t, ours, f.dir, k.query(t)))); diff != "" {
				t.Errorf("%v (-rg +ours):\n%s", k, diff)
			}
		}
	})
	if hits.Load() < int64(rgCases) {
		t.Errorf("%d cases have only %d files that match", rgCases, hits.Load())
	}
}
