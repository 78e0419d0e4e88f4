package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/search/match"
	"mcp-toolset/internal/search/walk"
)

func opener(dir string) walk.Opener { return func() (*os.File, error) { return os.Open(dir) } }

func line(dst []byte, path string, n int, l []byte, hit bool) []byte {
	sep := byte('-')
	if hit {
		sep = ':'
	}
	dst = append(append(dst, path...), sep)
	dst = append(strconv.AppendInt(dst, int64(n), 10), sep)
	return append(append(dst, l...), '\n')
}

func query(t testing.TB, pattern string, mode Mode) *Query {
	m, err := match.Compile(pattern, match.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Query{Match: m, Mode: mode, Line: line, Binary: func(dst []byte, path string) []byte { return append(dst, path+": binary file matches\n"...) }}
}

func rgPath() string {
	if p := os.Getenv("RIPGREP"); p != "" {
		return p
	}
	p, _ := exec.LookPath("rg")
	return p
}

// TestSpeed is to look at.
func TestSpeed(t *testing.T) {
	rg := rgPath()
	dir := os.Getenv("TREE")
	if rg == "" || dir == "" {
		t.Skip("RIPGREP and TREE are not set")
	}
	dir, _ = filepath.EvalSymlinks(dir)
	best := func(n int, f func()) time.Duration {
		b := time.Hour
		for range n {
			start := time.Now()
			f()
			b = min(b, time.Since(start))
		}
		return b
	}
	ctx := context.Background()
	warm := New(Options{})
	defer warm.Close()
	w := warm.Tree(dir, opener(dir))
	if _, err := w.Search(ctx, query(t, "zzz", Names)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	warm.build.Wait()
	fmt.Println("build", time.Since(start), "held", w.held>>10, "KiB", runtime.NumGoroutine())
	for _, tc := range []struct {
		pattern string
		mode    Mode
		limit   int
	}{
		{"PM_RESUME", Names, 0}, {"ErrUnexpectedEOF", Lines, 0}, {"return", Lines, 0}, {"return", Names, 0}, {"return", Lines, 250}, {"return", Names, 250},
		{`\w+_\w+\s*\(`, Lines, 0}, {`\w+_\w+\s*\(`, Names, 0}, {`\w+_\w+\s*\(`, Lines, 250}, {`[A-Z]+_RESUME`, Lines, 0}, {`\b\w+_init\b`, Lines, 0},
		{`\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`, Lines, 0}, {`int`, Names, 0}, {`(?i)errunexpectedeof`, Lines, 0},
	} {
		q := query(t, tc.pattern, tc.mode)
		q.Limit = tc.limit
		args := []string{"--hidden", "--no-require-git", "-g", "!.git", "-n", "--no-heading", "-e", tc.pattern, dir}
		if tc.mode == Names {
			args = append(args, "-l")
		}
		var out []byte
		theirs := best(5, func() { out, _ = exec.Command(rg, args...).Output() })
		var a *Answer
		cold := best(3, func() {
			s := New(Options{Index: -1})
			var err error
			if a, err = s.Tree(dir, opener(dir)).Search(ctx, q); err != nil {
				t.Fatal(err)
			}
			s.Close()
		})
		n := bytes.Count(out, []byte{'\n'})
		var b *Answer
		hot := best(5, func() {
			var err error
			if b, err = w.Search(ctx, q); err != nil {
				t.Fatal(err)
			}
		})
		fmt.Printf("%-34s %d %4d  rg %7.2f ms  cold %.2f  warm %.3f   lines %d %d %d\n", tc.pattern, tc.mode, tc.limit, float64(theirs.Microseconds())/1000,
			float64(cold)/float64(theirs), float64(hot)/float64(theirs), n, a.Total, b.Total)
		if tc.limit == 0 && tc.mode == Lines && n != a.Total {
			ours := strings.Split(string(a.Text), "\n")
			slices.Sort(ours)
			have := map[string]bool{}
			for _, l := range ours {
				have[l] = true
			}
			shown := 0
			for l := range strings.Lines(strings.ReplaceAll(string(out), dir+"/", "")) {
				if l = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r"); !have[l] && shown < 3 {
					shown++
					fmt.Printf("   rg has %.150q\n", l)
				}
			}
		}
	}
}
