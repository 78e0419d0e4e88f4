package ignore

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkMatch matches every entry of the tree IGNORE_TREE against that tree's own
// lists. The time is that of one verdict.
func BenchmarkMatch(b *testing.B) {
	top := os.Getenv("IGNORE_TREE")
	if top == "" {
		b.Skip("IGNORE_TREE names no folder")
	}
	type question struct {
		in     *Folder
		name   string
		folder bool
	}
	var all []question
	in := map[string]*Folder{top: Top(nil).With(listsOf(top, os.ReadFile))}
	lists := 0
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		f := in[filepath.Dir(path)]
		all = append(all, question{f, e.Name(), e.IsDir()})
		if !e.IsDir() {
			return nil
		}
		if e.Name() == ".git" || f.Ignored(e.Name(), true) {
			return fs.SkipDir
		}
		l := listsOf(path, os.ReadFile)
		if l.GitIgnore != nil {
			lists++
		}
		in[path] = f.Enter(e.Name(), l)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d entries, %d lists", len(all), lists)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		q := &all[i%len(all)]
		q.in.Match(q.name, q.folder)
	}
}

// BenchmarkEnter enters a folder without lists.
func BenchmarkEnter(b *testing.B) {
	f := Top(nil).With(Lists{GitIgnore: Parse([]byte("*.o\n"))})
	b.ReportAllocs()
	for range b.N {
		f.Enter("name", Lists{})
	}
}

// BenchmarkParse parses a typical list.
func BenchmarkParse(b *testing.B) {
	data := []byte("# objects\n*.o\n*.ko\n*.so.*\n/vmlinux\n!.gitignore\n/arch/*/boot\n*~\n\\#*#\n")
	b.ReportAllocs()
	for range b.N {
		Parse(data)
	}
}

// BenchmarkBacktrack matches a pattern made to be slow.
func BenchmarkBacktrack(b *testing.B) {
	l := Parse([]byte("**/**/*a*b*c*a*a*a*a*b\n"))
	path := ""
	for range 20 {
		path += "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
	}
	b.ReportAllocs()
	for range b.N {
		l.Match(path+"aaaaaaaa", false)
	}
}
