package dfa

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"testing"
)

// corpus returns up to 100 MB of C from the tree in SEARCH_TREE, or Go code.
var corpus = sync.OnceValue(func() []byte {
	root, ext := os.Getenv("SEARCH_TREE"), ".c"
	if root == "" {
		goroot, _ := exec.Command("go", "env", "GOROOT").Output()
		root, ext = filepath.Join(strings.TrimSpace(string(goroot)), "src"), ".go"
	}
	var all []byte
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && filepath.Ext(path) == ext {
			text, _ := os.ReadFile(path)
			all = append(all, text...)
		}
		if len(all) > 100<<20 {
			return filepath.SkipAll
		}
		return nil
	})
	return all
})

// unicodeWord returns ripgrep's \w as a class.
var unicodeWord = sync.OnceValue(func() string {
	var b strings.Builder
	for r := rune(0); r <= 0x10ffff; r++ {
		if first := r; IsWord(r) {
			for IsWord(r + 1) {
				r++
			}
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, first, r)
		}
	}
	return "[" + b.String() + "]"
})

var benchPatterns = []struct {
	pattern string
	must    []string
}{
	{`PM_RESUME`, []string{"PM_RESUME"}},
	{`return -EINVAL`, []string{"return -EINVAL"}},
	{`(?i)PM_RESUME`, nil},
	{`[A-Z]+_RESUME`, nil},
	{`[A-Z]+_RESUME`, []string{"_RESUME"}},
	{`PM_RESUME|kmalloc_array|GFP_NOWAIT|netdev_alloc`, nil},
	{`\w+_\w+[ \t]*\(`, nil},
	{`\w{5}[ \t]+\w{5}[ \t]+\w{5}[ \t]+\w{5}[ \t]+`, nil},
	{`[0-9a-f]{8}-[0-9a-f]{4}`, nil},
	{`\b\w+_init\b`, nil},
	{`^static .*;$`, nil},
	{`[a-q][^u-z]{13}x`, nil},
}

func benchDFA(b testing.TB, pattern string, must []string) *DFA {
	re, err := syntax.Parse(strings.ReplaceAll(pattern, `\w`, unicodeWord()), testFlags)
	if err != nil {
		b.Fatal(err)
	}
	d, err := New(re, Options{Must: must})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkCount uses one core on one large buffer. For comparison it runs package
// regexp (on a tenth of the text) and ripgrep, which starts a process each time.
func BenchmarkCount(b *testing.B) {
	buf := corpus()
	if len(buf) == 0 {
		b.Skip("no source code to read")
	}
	rg := os.Getenv("RIPGREP")
	if rg == "" {
		rg, _ = exec.LookPath("rg")
	}
	file := filepath.Join(b.TempDir(), "corpus")
	if err := os.WriteFile(file, buf, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, p := range benchPatterns {
		name := p.pattern
		if p.must != nil {
			name += "+must"
		}
		b.Run(name+"/dfa", func(b *testing.B) {
			d := benchDFA(b, p.pattern, p.must)
			d.Count(buf)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				d.Count(buf)
			}
		})
		b.Run(name+"/regexp", func(b *testing.B) {
			re, part := regexp.MustCompile("(?m)"+p.pattern), buf[:len(buf)/10]
			b.SetBytes(int64(len(part)))
			for b.Loop() {
				for line := range bytes.Lines(part) {
					re.Match(line)
				}
			}
		})
		b.Run(name+"/rg", func(b *testing.B) {
			if rg == "" {
				b.Skip("no ripgrep: neither on the path nor in RIPGREP")
			}
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				_, _ = exec.Command(rg, "-j1", "-c", "--", p.pattern, file).Output()
			}
		})
	}
}
