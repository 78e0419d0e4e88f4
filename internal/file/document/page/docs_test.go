package page

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// docPages is the number of documentation pages that TestDocumentation reads.
const docPages = 340

// TestDocumentation reads pages of the documentation in DOC_PAGES, a folder per package,
// which e2e/docs/install.sh makes. It compares code and tables with a simple reading of the HTML.
func TestDocumentation(t *testing.T) {
	dir := os.Getenv("DOC_PAGES")
	if dir == "" {
		t.Skip("DOC_PAGES names no folder; .ci/full sets it")
	}
	var total kept
	var times []time.Duration
	for _, path := range samplePages(t, dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		p := Read(data, Request{URL: "https://example.org/docs/page.html", HTML: true})
		times = append(times, time.Since(start))
		k := compare(t, p.Text, string(data))
		total.add(k)
		if k.code > k.codeKept || k.cells > k.cellsKept+k.cells/10 {
			t.Logf("%s: %+v", strings.TrimPrefix(path, dir), k)
		}
		if times[len(times)-1] > 5*time.Second {
			t.Logf("%s took %v", path, times[len(times)-1])
		}
	}
	slices.Sort(times)
	t.Logf("%d pages: %+v; median %v, p95 %v, slowest %v", len(times), total, times[len(times)/2], times[len(times)*95/100], times[len(times)-1])
	if len(times) != docPages {
		t.Errorf("read %d pages, want %d", len(times), docPages)
	}
	if total.codeKept*100 < total.code*99 {
		t.Errorf("%d of %d code blocks have all lines, want 99 %%", total.codeKept, total.code)
	}
	if total.cellsKept*100 < total.cells*90 {
		t.Errorf("%d of %d table cells are there, want 90 %%", total.cellsKept, total.cells)
	}
}

// samplePages returns docPages pages below dir, as many of each package as there are.
func samplePages(t *testing.T, dir string) []string {
	byPackage := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".html") {
			rel, _ := filepath.Rel(dir, path)
			pkg, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
			byPackage[pkg] = append(byPackage[pkg], path)
		}
		return err
	})
	if err != nil || len(byPackage) == 0 {
		t.Fatalf("no pages in %s: %v", dir, err)
	}
	var packages [][]string
	for _, pages := range byPackage {
		slices.Sort(pages)
		packages = append(packages, pages)
	}
	slices.SortFunc(packages, func(a, b []string) int { return len(a) - len(b) })
	var out []string
	for i, pages := range packages {
		n := min(len(pages), (docPages-len(out))/(len(packages)-i))
		for j := range n {
			out = append(out, pages[j*len(pages)/n])
		}
	}
	return out
}

// kept counts code blocks and table cells in HTML, and those that are in its Markdown.
type kept struct{ code, codeKept, cells, cellsKept int }

func (k *kept) add(o kept) {
	k.code += o.code
	k.codeKept += o.codeKept
	k.cells += o.cells
	k.cellsKept += o.cellsKept
}

func compare(t *testing.T, md, source string) (k kept) {
	doc, err := html.Parse(strings.NewReader(strings.ReplaceAll(source, "\r\n", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	mdLines := strings.Split(md, "\n")
	cells := map[string]int{}
	for _, line := range mdLines {
		for _, cell := range strings.Split(strings.ReplaceAll(line, `\|`, ""), "|") {
			cells[wordsOf(cell)]++
		}
	}
	all := wordsOf(md)
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Pre:
			if text := strings.Trim(shown(n), "\n"); strings.TrimSpace(text) != "" {
				k.code++
				if hasLines(mdLines, strings.Split(text, "\n")) {
					k.codeKept++
				} else if os.Getenv("DOC_DETAIL") != "" {
					t.Logf("lost code: %.300q", text)
				}
			}
		case atom.Td, atom.Th:
			text := wordsOf(shown(n))
			if text == "" || hasTable(n) {
				continue
			}
			k.cells++
			switch {
			case cells[text] > 0:
				cells[text]--
				k.cellsKept++
			case len(text) >= 8 && strings.Contains(all, text):
				k.cellsKept++
			case os.Getenv("DOC_DETAIL") != "":
				t.Logf("lost cell: %.300q", shown(n))
			}
		}
	}
	return k
}

// shown returns the text of n with line ends for br elements.
func shown(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode && c.Parent.DataAtom != atom.Script && c.Parent.DataAtom != atom.Style:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// hasLines reports whether lines follow each other in md, all with the same prefix.
func hasLines(md, lines []string) bool {
next:
	for i := 0; i+len(lines) <= len(md); i++ {
		prefix, ok := strings.CutSuffix(md[i], lines[0])
		if !ok || strings.Trim(prefix, " >\t") != "" {
			continue
		}
		for j, line := range lines {
			if md[i+j] != prefix+line && (strings.TrimSpace(line) != "" || strings.Trim(md[i+j], " >\t") != "") {
				continue next
			}
		}
		return true
	}
	return false
}

func hasTable(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.Table {
			return true
		}
	}
	return false
}

var markup = regexp.MustCompile(`!\[[^\]]*\]|\]\([^)]*\)|<br ?/?>`)

// wordsOf returns the letters and digits of s, without addresses of Markdown.
func wordsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, markup.ReplaceAllString(s, "]"))
}
