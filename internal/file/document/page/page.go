// Package page reads web pages: it decodes their text to UTF-8 and converts HTML to
// Markdown for a model.
//
// # Details
//
// A page passes these steps. decode finds the encoding. reduce copies the HTML without
// scripts, styles, pictures in the text and needless attributes, up to maxHTML bytes.
// tidy removes from the tree what a user would not see, makes addresses absolute, and
// limits tables and nesting. choose takes the article that go-readability finds, if it
// loses no code, tables or headings, and otherwise the main part of the page. markdown
// converts it.
//
// Pages are hostile. The conversion takes time and memory in proportion to its input
// only within the limits of this package; a page that exceeds one is converted with less
// fidelity, and Page.Note names the difference. Hidden text is left out, because it is
// text for the model that the user cannot see.
package page

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxHTML is the limit of reduced HTML that is converted, in bytes. The rest of the
	// page becomes plain text. 2 MB take about 3 s on one core.
	maxHTML = 2_000_000
	// maxText is the limit of the text of a page, in bytes. An answer as JSON takes at
	// most twice as much.
	maxText = 12 << 20
	// maxTitle is the limit of a title in bytes.
	maxTitle = 300
)

// Request selects how a page is read.
type Request struct {
	URL     string // address of the page, to make links absolute; "": links stay as they are
	Charset string // charset parameter of the Content-Type header; "": none
	HTML    bool   // convert HTML to Markdown; false: only decode the text to UTF-8
}

// Page is a page as a model reads it.
type Page struct {
	Title string // "" if there is none
	Text  string // Markdown, or the decoded text: valid UTF-8, line endings "\n"
	Note  string // a clause about what is left out or done differently; "": nothing
}

// Read reads the page in data. It does not fail: a page that cannot be converted becomes
// plain text.
func Read(data []byte, q Request) *Page {
	text, note := decode(data, q)
	p := &Page{Text: text}
	p.note(note)
	if q.HTML {
		p.convert(text, q.URL)
	}
	if len(p.Text) > maxText {
		p.Text = strings.ToValidUTF8(p.Text[:maxText], "")
		p.note(fmt.Sprintf("the text after the first %d MiB is left out", maxText>>20))
	}
	return p
}

func (p *Page) note(clause string) {
	if p.Note != "" && clause != "" {
		p.Note += "; "
	}
	p.Note += clause
}

// convert sets the title and the text of p to those of the HTML in source.
func (p *Page) convert(source, address string) {
	r := reduce(source, maxHTML)
	p.Title = r.title
	md, heading, note, ok := toMarkdown(r.html.Bytes(), address)
	if p.Title == "" {
		p.Title = heading
	}
	if !ok {
		p.Text = reduce(source, 0).rest.String()
		p.note(note)
		return
	}
	p.Text = md
	p.note(note)
	if rest := r.rest.String(); rest != "" {
		p.Text += "\n\n" + rest
		p.note(fmt.Sprintf("only the first %d MB of HTML are converted, the rest is plain text", maxHTML/1_000_000))
	}
	if p.Text == "" {
		p.note("the page has no text without JavaScript")
	}
}

// toMarkdown converts reduced HTML. heading is the first of level 1. ok is false if the
// conversion is not possible, for the reason in note.
func toMarkdown(reduced []byte, address string) (md, heading, note string, ok bool) {
	const plain = ": this is its plain text"
	doc, err := html.ParseWithOptions(bytes.NewReader(reduced), html.ParseOptionEnableScripting(false))
	if err != nil { // the parser refuses a nesting over 512
		return "", "", "the page is nested too deeply to convert" + plain, false
	}
	t := &tidier{base: baseOf(doc, address)}
	t.tidy(doc)
	for n := range doc.Descendants() {
		if n.DataAtom == atom.H1 {
			heading = oneLine(textOf(n), maxTitle)
			break
		}
	}
	if md, err = markdown(t.choose(doc)); err != nil {
		return "", heading, "the page cannot be converted" + plain, false
	}
	if t.hiddenTabs {
		note = "tabs that are hidden at first are left out"
	}
	return md, heading, note, true
}

// baseOf returns the address that relative addresses of doc refer to, or nil.
func baseOf(doc *html.Node, address string) *url.URL {
	base, err := url.Parse(address)
	if err != nil || !base.IsAbs() {
		base = nil
	}
	for n := range doc.Descendants() {
		if n.Data != "base" || n.Type != html.ElementNode {
			continue
		}
		href, err := url.Parse(strings.TrimSpace(attr(n, "href")))
		switch {
		case err != nil:
		case base != nil:
			href = base.ResolveReference(href)
			fallthrough
		default:
			if href.Scheme == "http" || href.Scheme == "https" {
				return href
			}
		}
		break
	}
	return base
}

// attr returns the value of an attribute of n, or "".
func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// oneLine returns s on one line, cut to max bytes.
func oneLine(s string, max int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > max {
		for max > 0 && !utf8.RuneStart(s[max]) {
			max--
		}
		s = s[:max] + "..."
	}
	return s
}
