// Command style prints the comments of production files that most resemble the
// constructions that AGENTS.md advises against, by package. It judges nothing: it is
// for whoever looks for text to rewrite. From the repository:
//
//	go run ./internal/style [-n COMMENTS] [FOLDER]
//
// Rates are hits per 1,000 words of comments.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// constructions lists the counted constructions. Their rates in this project were much
// higher than in age, go-sdk, x/tools and net/http.
var constructions = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"what-clause", regexp.MustCompile(`(?i)\bwhat (is|are|was|were|it|they|the|of|has|have|had|can|cannot|may|must|there|a|one)\b`)},
	{"says, tells", regexp.MustCompile(`(?i)\b(says?|said|tells?|told)\b`)},
	{"behind", regexp.MustCompile(`(?i)\bbehind\b`)},
	{"but for", regexp.MustCompile(`(?i)\bbut for\b`)},
	{"keep", regexp.MustCompile(`(?i)\b(keeps?|kept)\b`)},
	{"person", regexp.MustCompile(`(?i)\b(a person|persons|people|somebody|nobody)\b`)},
	{"doc: X is", regexp.MustCompile(`^(\w+) (is|are) `)},
}

// comment holds one comment group with its hits.
type comment struct {
	place string // file:line
	text  string
	hits  int
}

// pkg holds the comments of one folder.
type pkg struct {
	name     string
	words    int
	hits     []int // by construction
	total    int
	comments []comment
}

func main() {
	show := flag.Int("n", 3, "number of comments to print for each package")
	flag.Parse()
	root := cmp.Or(flag.Arg(0), ".")
	pkgs, err := read(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(1)
	}
	report(os.Stdout, pkgs, *show)
}

// read counts the comments of the production files below a folder, by package.
func read(root string) ([]*pkg, error) {
	byName := map[string]*pkg{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, filepath.Dir(path))
		p := byName[name]
		if p == nil {
			p = &pkg{name: name, hits: make([]int, len(constructions))}
			byName[name] = p
		}
		for _, group := range file.Comments {
			p.add(files.Position(group.Pos()), group)
		}
		return nil
	})
	var pkgs []*pkg
	for _, p := range byName {
		pkgs = append(pkgs, p)
	}
	slices.SortFunc(pkgs, func(a, b *pkg) int { return cmp.Or(cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.name, b.name)) })
	return pkgs, err
}

// add counts a comment group.
func (p *pkg) add(at token.Position, group *ast.CommentGroup) {
	text := strings.Join(strings.Fields(group.Text()), " ")
	c := comment{place: fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line), text: text}
	p.words += len(strings.Fields(text))
	for i, construction := range constructions {
		n := len(construction.pattern.FindAllString(text, -1))
		p.hits[i] += n
		c.hits += n
	}
	p.total += c.hits
	p.comments = append(p.comments, c)
}

// rate returns the hits per 1,000 words.
func (p *pkg) rate() float64 { return 1000 * float64(p.total) / float64(max(p.words, 1)) }

// report prints the rates of each construction, and of each package with its
// comments that have most hits.
func report(w io.Writer, pkgs []*pkg, show int) {
	all := &pkg{hits: make([]int, len(constructions))}
	for _, p := range pkgs {
		all.words += p.words
		all.total += p.total
		for i, n := range p.hits {
			all.hits[i] += n
		}
	}
	fmt.Fprintf(w, "%d words of comments, %.1f hits per 1,000\n", all.words, all.rate())
	for i, construction := range constructions {
		fmt.Fprintf(w, "  %-12s %6.2f\n", construction.name, 1000*float64(all.hits[i])/float64(max(all.words, 1)))
	}
	for _, p := range pkgs {
		fmt.Fprintf(w, "\n%s: %.1f (%d words)\n", p.name, p.rate(), p.words)
		slices.SortStableFunc(p.comments, func(a, b comment) int { return b.hits - a.hits })
		for _, c := range p.comments[:min(show, len(p.comments))] {
			if c.hits > 0 {
				fmt.Fprintf(w, "  %s: %.300s\n", c.place, c.text)
			}
		}
	}
}
