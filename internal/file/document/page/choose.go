package page

import (
	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of pages for go-readability, which goes through a page several times, and
// through the text of each element.
const (
	maxElements = 20_000
	maxDepths   = 1_000_000 // elements, multiplied by the depth of the tree
)

// content counts what a part of a page has.
type content struct{ code, cells, headings, letters int }

// choose returns the part of a page to convert. The reference is the main part as the
// page declares it, or else the whole. The article that go-readability finds has less of
// menus, advertisements and the like, but may lack code and tables: it is used only if it
// keeps all code, 80 % of table cells and headings, and 20 % of the text.
func (t *tidier) choose(doc *html.Node) *html.Node {
	reference := mainOf(doc)
	article := article(doc)
	if article == nil {
		return reference
	}
	all, some := contentOf(reference), contentOf(article)
	if some.code < all.code || some.cells*5 < all.cells*4 || some.headings*5 < all.headings*4 || some.letters*5 < all.letters {
		return reference
	}
	return article
}

// mainOf returns the main element with the most text, the only article, or the body.
func mainOf(doc *html.Node) *html.Node {
	var best, only, body *html.Node
	articles, most := 0, 0
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.DataAtom == atom.Main || attr(n, "role") == "main":
			if size := letters(n, nil); size > most {
				best, most = n, size
			}
		case n.DataAtom == atom.Article:
			articles++
			only = n
		case n.DataAtom == atom.Body:
			body = n
		}
	}
	if best != nil {
		return best
	}
	if articles == 1 && letters(only, nil) > 0 {
		return only
	}
	if body != nil {
		return body
	}
	return doc
}

// article returns what go-readability finds in a copy of doc, or nil.
func article(doc *html.Node) (found *html.Node) {
	var head *html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Head {
			head = n
			break
		}
	}
	elements, depth := size(doc)
	if elements > maxElements || elements*depth > maxDepths || head == nil {
		return nil
	}
	// Without a title, or with that of the page, it would remove the heading with the
	// same text.
	title := &html.Node{Type: html.ElementNode, Data: "title", DataAtom: atom.Title}
	title.AppendChild(textNode("untitled-page-without-a-name"))
	head.AppendChild(title)
	defer remove(title)
	defer func() {
		if recover() != nil { // the page is converted without it
			found = nil
		}
	}()
	p := readability.NewParser()
	p.KeepClasses = true
	p.DisableJSONLD = true
	a, err := p.ParseDocument(doc, nil)
	if err != nil {
		return nil
	}
	if a.Node != nil {
		for n := range a.Node.Descendants() {
			if n.DataAtom == atom.H1 { // made h2
				n.Data = "h1"
			}
		}
	}
	return a.Node
}

// size returns the number of elements in n and how deep they are nested.
func size(n *html.Node) (elements, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			e, d := size(c)
			elements += e + 1
			depth = max(depth, d+1)
		}
	}
	return elements, depth
}

func contentOf(n *html.Node) content {
	c := content{letters: letters(n, nil)}
	for d := range n.Descendants() {
		if has(d, wasCell) {
			c.cells++
		}
		switch d.DataAtom {
		case atom.Pre:
			c.code += letters(d, nil)
		case atom.Td, atom.Th:
			c.cells++
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			c.headings++
		}
	}
	return c
}
