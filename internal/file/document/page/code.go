package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tidyCode replaces the content of a pre element by a code element with its text, line
// by line as browsers show it, and with its language.
func tidyCode(pre *html.Node) {
	var b strings.Builder
	codeText(&b, pre)
	text := tidyText(b.String())
	code := &html.Node{Type: html.ElementNode, Data: "code", DataAtom: atom.Code}
	if lang := languageOf(pre); lang != "" {
		code.Attr = []html.Attribute{{Key: "class", Val: "language-" + lang}}
	}
	for pre.FirstChild != nil {
		pre.RemoveChild(pre.FirstChild)
	}
	pre.Attr = nil
	if strings.TrimSpace(text) == "" {
		rename(pre, atom.Div)
		return
	}
	code.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	pre.AppendChild(code)
}

// codeText writes the text of n. Lines are separate elements on some pages.
func codeText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode || has(c, "hidden") || c.DataAtom == atom.Button:
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		case c.DataAtom == atom.Div || c.DataAtom == atom.P || c.DataAtom == atom.Li || c.DataAtom == atom.Tr:
			newline(b)
			codeText(b, c)
			newline(b)
		default:
			codeText(b, c)
		}
	}
}

func newline(b *strings.Builder) {
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
}

// languageOf returns the language of code by the class of its elements or of those
// around it: "language-x", "lang-x", "highlight-x" or "highlight-source-x"; or "".
func languageOf(pre *html.Node) string {
	elements := []*html.Node{pre}
	for c := pre.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			elements = []*html.Node{c, pre}
			break
		}
	}
	for p := pre.Parent; p != nil && len(elements) < 4; p = p.Parent {
		elements = append(elements, p)
	}
	for _, e := range elements {
		for class := range strings.FieldsSeq(attr(e, "class")) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-"} {
				if name, ok := strings.CutPrefix(class, prefix); ok && isLanguage(name) {
					return name
				}
			}
		}
	}
	return ""
}

func isLanguage(name string) bool {
	switch name {
	case "", "default", "none", "text", "plaintext", "plain", "txt":
		return false
	}
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+#.-_", r))
	}
	return len(name) <= 20 && strings.IndexFunc(name, odd) < 0
}
