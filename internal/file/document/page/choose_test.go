package page

import (
	"strings"
	"testing"
)

// TestChoose checks that the article of go-readability, which lacks the sidebar of this page,
// is used only if the sidebar has no code, and few of the table cells and headings.
func TestChoose(t *testing.T) {
	const text = "This paragraph has enough words, commas, and sentences to be found by the extraction of articles. It goes on, with clauses, so that its score is high."
	article := "<div class=content><h1>Title</h1>" + strings.Repeat("<p>"+text+"</p>", 5)
	cells := func(n int) string { return "<table><tr>" + strings.Repeat("<td>cell</td>", n) + "</tr></table>" }
	for _, c := range []struct {
		name, article, sidebar string
		whole                  bool
	}{
		{"links", article, "<ul><li><a href=1>one</a></ul>", false},
		{"code", article, "<pre>x := 1</pre>", true},
		{"cells", article, cells(4), true},
		{"few cells", article + cells(40) + "<p>" + text + "</p>", cells(4), false},
		{"headings", article, "<h2>a</h2><h2>b</h2>", true},
		{"text", article, strings.Repeat("<a href=1>"+text+"</a>\n", 60), true},
	} {
		p := Read([]byte("<html><head><title>T</title></head><body>"+c.article+`</div><div class="sidebar related">Sidebar`+c.sidebar+"</div></body></html>"), Request{HTML: true})
		if got := strings.Contains(p.Text, "Sidebar"); got != c.whole || !strings.Contains(p.Text, text) {
			t.Errorf("%s: whole page %t:\n%.2000s", c.name, got, p.Text)
		}
	}
}
