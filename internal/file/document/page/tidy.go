package page

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxNested is the limit of lists and quotations inside each other. Each adds to the
	// indentation of all lines inside.
	maxNested = 8
	// maxGrowth is the limit of bytes that absolute addresses add to a page. Links after
	// it become text.
	maxGrowth = 4_000_000
	// littleText is the number of letters below which a page is taken for one that needs
	// JavaScript, or whose text is in its navigation.
	littleText = 200
)

// tidier prepares the tree of a page for the conversion.
type tidier struct {
	base       *url.URL
	growth     int // bytes that absolute addresses have added
	cells      int // cells of tables
	hiddenTabs bool

	scripts map[*html.Node]bool // noscript elements
	around  map[*html.Node]bool // navigation and the like
}

// place describes where in a page an element is.
type place struct {
	inside  bool // in the main part, an article or a section
	nested  int  // lists and quotations around
	heading bool // in a heading or a summary
}

// tidy removes the parts of a page that are not its text.
func (t *tidier) tidy(doc *html.Node) {
	t.scripts, t.around = map[*html.Node]bool{}, map[*html.Node]bool{}
	t.children(doc, place{})
	little := letters(doc, t.scripts) < littleText
	for n := range t.scripts {
		if little { // as in a browser without JavaScript
			rename(n, atom.Div)
		} else {
			remove(n)
		}
	}
	if left := letters(doc, t.around); left >= littleText || left*5 >= letters(doc, nil) {
		for n := range t.around {
			remove(n)
		}
	}
}

func (t *tidier) children(n *html.Node, p place) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.TextNode:
			c.Data = tidyText(c.Data)
		case html.ElementNode:
			t.element(c, p)
		case html.DocumentNode:
		default:
			n.RemoveChild(c)
		}
		c = next
	}
}

// element tidies n with its content, and may remove n.
func (t *tidier) element(n *html.Node, p place) {
	if has(n, "hidden") {
		t.hiddenTabs = t.hiddenTabs || attr(n, "role") == "tabpanel" && n.FirstChild != nil
		remove(n)
		return
	}
	switch n.DataAtom {
	case atom.Noscript:
		t.scripts[n] = true
	case atom.Button:
		if !p.heading {
			remove(n)
			return
		}
	case atom.Ul, atom.Ol, atom.Blockquote:
		// The converter does not mark the lines of code in a quotation.
		if p.nested++; p.nested > maxNested || n.DataAtom == atom.Blockquote && hasElement(n, atom.Pre) {
			rename(n, atom.Div)
		}
	case atom.Main, atom.Article, atom.Section:
		p.inside = true
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Summary, atom.Dt:
		p.heading = true
	case atom.Img:
		t.image(n)
		return
	case atom.A:
		t.link(n)
		if p.heading && isPermalink(n) {
			remove(n)
			return
		}
	case atom.Pre:
		tidyCode(n)
		return
	}
	if attr(n, "role") == "main" {
		p.inside = true
	}
	if isAround(n, p) {
		t.around[n] = true
	}
	t.children(n, p)
	if n.DataAtom == atom.Table {
		t.table(n)
	}
}

// isAround reports whether n is not part of what the page is about. Headers, footers and
// asides belong to the main part or article that they are in, as in the HTML standard.
func isAround(n *html.Node, p place) bool {
	switch n.DataAtom {
	case atom.Nav:
		return true
	case atom.Header, atom.Footer:
		return !p.inside
	case atom.Aside:
		return !p.inside || 2*linkLetters(n) > letters(n, nil)
	}
	switch attr(n, "role") {
	case "navigation", "search", "menu", "menubar", "dialog", "alertdialog":
		return true
	case "banner", "contentinfo", "complementary":
		return !p.inside
	}
	return false
}

// isPermalink reports whether a link is the sign after a heading that leads to it.
func isPermalink(a *html.Node) bool {
	if len(a.Attr) == 0 || a.FirstChild == nil {
		return false
	}
	switch strings.TrimSpace(textOf(a)) {
	case "¶", "#", "§", "🔗", "\u200b", "":
		return true
	}
	return false
}

// link makes the address of a link absolute. A link within the page or to a script
// becomes text.
func (t *tidier) link(a *html.Node) {
	href := attr(a, "href")
	class := attr(a, "class")
	a.Attr = nil
	if class != "" {
		a.Attr = []html.Attribute{{Key: "class", Val: class}}
	}
	if abs := t.absolute(href); abs != "" && !strings.HasPrefix(href, "#") {
		a.Attr = append(a.Attr, html.Attribute{Key: "href", Val: abs})
	}
}

// image makes the address of an image absolute. An image without one becomes its
// description; one of a single pixel is removed.
func (t *tidier) image(img *html.Node) {
	src, alt := t.absolute(attr(img, "src")), attr(img, "alt")
	if src == "" {
		src = t.absolute(attr(img, "data-src"))
	}
	pixel := attr(img, "width") == "1" || attr(img, "height") == "1"
	switch {
	case pixel || src == "" && alt == "":
		remove(img)
	case src == "":
		*img = html.Node{
			Type: html.TextNode, Data: alt,
			Parent: img.Parent, PrevSibling: img.PrevSibling, NextSibling: img.NextSibling,
		}
	default:
		img.Attr = []html.Attribute{{Key: "src", Val: src}, {Key: "alt", Val: alt}}
	}
}

// absolute returns an address of the page as one that can be used elsewhere, or "".
func (t *tidier) absolute(address string) string {
	for _, scheme := range []string{"javascript", "vbscript", "data", "blob", "about"} {
		if hasScheme(address, scheme) {
			return ""
		}
	}
	address = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return -1
		}
		return r
	}, address)
	if address == "" || t.base == nil {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	abs := t.base.ResolveReference(u).String()
	if t.growth += max(0, len(abs)-len(address)); t.growth > maxGrowth {
		return ""
	}
	return abs
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// hasElement reports whether n contains an element of the kind.
func hasElement(n *html.Node, kind atom.Atom) bool {
	for c := range n.Descendants() {
		if c.DataAtom == kind {
			return true
		}
	}
	return false
}

func remove(n *html.Node) {
	if n.Parent != nil {
		n.Parent.RemoveChild(n)
	}
}

func rename(n *html.Node, to atom.Atom) { n.Data, n.DataAtom = to.String(), to }

// textOf returns the text in n.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// letters returns the number of bytes in the text of n other than white space, without
// that of the nodes in skip.
func letters(n *html.Node, skip map[*html.Node]bool) int {
	total := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			for _, b := range []byte(c.Data) {
				if !isSpace(b) {
					total++
				}
			}
		case !skip[c]:
			total += letters(c, skip)
		}
	}
	return total
}

// linkLetters returns the letters of the links in n.
func linkLetters(n *html.Node) int {
	total := 0
	for c := range n.Descendants() {
		if c.DataAtom == atom.A {
			total += letters(c, nil)
		}
	}
	return total
}
