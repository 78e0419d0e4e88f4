package page

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/testscale"
)

// hostile maps names to pages that cost a converter without limits minutes or gigabytes.
// At quick scale they are smaller.
func hostile() map[string]string {
	r := func(s string, n int) string { return strings.Repeat(s, testscale.N(n/50+1, n)) }
	each := func(n int, format string) string {
		var b strings.Builder
		for i := range testscale.N(n/50+1, n) {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"hidden names":     "<p>" + strings.Repeat("x", maxHTML) + each(400_000, "<x%d hidden>"),
		"span":             `<table><tr><td colspan=100000 rowspan=100000>x</td></tr><tr><td>y</td></tr></table>`,
		"many spans":       `<table>` + r(`<tr>`+r(`<td colspan=100 rowspan=2>x`, 100), 200) + `</table>`,
		"wide and long":    `<table><tr>` + r("<td>x", 20_000) + r("<tr><td>y<td>z", 20_000) + `</table>`,
		"many tables":      r(`<table><tr><td>a<td>b<tr><td colspan=14 rowspan=14>x</table>`, 10_000),
		"rowspans":         `<table>` + r(`<tr><td rowspan=199>x<td>y`, 20_000) + `</table>`,
		"long cell":        `<table><tr><td>` + r("x", 5000) + `<td>y` + r("<tr><td>a<td>b", 3000) + `</table>`,
		"nested tables":    r(`<table><tr><td>x`, 120) + r("y ", 500_000),
		"paragraphs":       r("<p>Lorem ipsum <b>dolor</b> sit <a href=x>amet</a>.</p>\n", 190_000),
		"marks":            "<p>" + r("*_[]()", 50_000),
		"brackets":         "<p>" + r("["+strings.Repeat("x", 98), 19_900),
		"article in deep":  r("<div>", 480) + r("<p>text, with commas, and words", 19_000),
		"marks on lines":   r("<p>*_[]()`#-+>1. ", 100_000),
		"attributes":       "<p" + each(300_000, " a%d=1") + ">x",
		"same attribute":   "<p" + r(" class=x", 300_000) + ">x",
		"nested div":       r("<div>", 100_000) + "deep" + r("</div>", 100_000),
		"nested 500":       r("<div>", 500) + r("x <b>y</b> ", 100_000),
		"nested inline":    r("<b><i><a href=x><code>", 120) + r("x ", 900_000),
		"nested quotes":    r("<blockquote>", 400) + r("x<br>", 300_000),
		"nested lists":     r("<ul><li>", 250) + r("<p>x", 400_000),
		"list items":       r("<li>x", 350_000),
		"definition lists": r("<dl><dt>a<dd>b", 100_000),
		"data addresses":   `<a href="data:text/plain,` + r("x", 3_000_000) + `">a</a><img alt=b src="data:image/png;base64,` + r("A", 3_000_000) + `">`,
		"formatting":       each(400, "<b class=c%d>") + r("<p>x", 300_000),
		"languages":        each(400, "<pre><code class=language-%d>x</pre>") + r("<p>x", 300_000),
		"end tags":         r("x</b>", 400_000),
		"ignored tags":     r("x<td>", 400_000),
		"ignored in body":  r("x<head>", 250_000),
		"comments":         r("x<!---->", 200_000),
		"breaks":           r("<br>x", 400_000),
		"breaks only":      r("<br>", 500_000),
		"links":            r("<a href=y>x</a>", 130_000),
		"unclosed links":   r("<a href=y>x", 180_000),
		"long base":        `<base href="https://example.org/` + r("b", 2000) + `/">` + r("<a href=y>x</a> ", 120_000),
		"images":           r("<img src=x>", 180_000),
		"noscript":         r("<noscript>x</noscript>", 80_000),
		"asides":           "<main>" + r("<aside>x", 250_000),
		"svg":              r("<svg>x</svg>", 160_000) + r("<svg>", 100_000),
		"math":             r("<math><mi>x", 180_000),
		"code":             r("<pre>x\n</pre>", 140_000),
		"inline code":      r("<code>x`</code>", 130_000),
		"backticks":        "<pre>" + r("`", 1_000_000) + "</pre><code>" + r("`", 900_000) + "</code>",
		"entities":         r("&lt;&#7;&#xF002;", 120_000),
		"selects":          "<select>" + r("<option>x", 200_000),
		"frames":           "<frameset>" + r("<frame>", 200_000),
		"templates":        r("<template>", 200_000),
		"hidden":           r("<div hidden>x", 150_000),
		"headings":         r("<h1>x<a href='#a'>#</a>", 80_000),
		"custom":           each(150_000, "<x-%d>"),
		"unclosed tag":     "<p>x<a href='" + r("x", 2_000_000),
		"unclosed script":  "<p>x<script>" + r("x<", 2_000_000),
		"NUL":              r("\x00", 1_000_000) + "<p>\x00",
		"less than":        r("<", 2_000_000),
		"ruby":             r("<ruby><rt>x", 150_000),
		"forms":            r("<form><p>x</form>", 110_000),
		"tabs":             "<p>" + r("x\t\n ", 450_000),
		"spaces":           "<p>a" + r(" ", 1_900_000) + "b",
		"bold parts":       r("<b>x</b> <i>y</i>", 110_000),
		"strike":           r("<del>x</del>~", 130_000),
		"newlines":         r("\n", 1_900_000),
		"titles":           r("<title>x</title>", 110_000),
	}
}

// TestHostile reads the pages within the limits of text and time.
func TestHostile(t *testing.T) {
	for name, source := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			p := Read([]byte(source), Request{URL: "https://example.org/", HTML: true})
			if d := time.Since(start); d > slowness*20*time.Second {
				t.Errorf("it took %v", d)
			}
			t.Logf("%d bytes of HTML, %d of text: %s", len(source), len(p.Text), p.Note)
			if !utf8.ValidString(p.Text) || len(p.Text) > maxText {
				t.Errorf("invalid or long text: %d bytes", len(p.Text))
			}
		})
	}
}
