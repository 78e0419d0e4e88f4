package page

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// Limits of the parts of a tag, in bytes. reduce removes longer ones.
const (
	maxName      = 40
	maxAddress   = 2048
	maxAttribute = 500
)

// set returns a set of the words in s.
func set(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

var (
	// rawText lists elements without markup inside, none of which is shown.
	rawText = set("script style iframe noembed noframes textarea")
	// unseen lists further elements that are left out with their content.
	unseen = set("svg template select datalist video audio")
	// bare lists elements of which only the tags are left out.
	bare = set("meta link input embed source track param object canvas frame frameset")
	// phrasing lists formatting elements, whose class is removed. The parser opens
	// them again in each paragraph, at most three of each if they are equal.
	phrasing = set("b big em font i nobr s small strike strong tt u")
	// inTable lists elements that the parser ignores outside of a table.
	inTable = set("caption col colgroup tbody td tfoot th thead tr")
	// implied lists elements that the next of their kind ends.
	implied = set("p li dt dd tr td th option")
	// lines and paragraphs list elements that begin a line of plain text, or follow an
	// empty one.
	lines      = set("br tr li dt dd div hr figcaption summary")
	paragraphs = set("p h1 h2 h3 h4 h5 h6 pre table ul ol dl blockquote section article main header footer nav")
)

// reduced is what reduce leaves of HTML.
type reduced struct {
	title string
	html  bytes.Buffer // HTML for the parser
	rest  plainText    // text after the limit
}

// reducer holds the state of reduce.
type reducer struct {
	reduced
	z      *html.Tokenizer
	source string
	at     int            // offset in source after the token
	open   map[string]int // open elements by name
	last   map[string]int // offset of the last end tag by name; 0: none
	skip   string         // the element that is skipped; ""
	depth  int            // elements of this name that are open within it
	limit  int
	before string // the name of the tag before
}

// reduce returns the HTML in source without scripts, styles, SVG, comments, addresses
// with data, and attributes that no later step uses. Elements that an
// attribute hides are marked with the attribute hidden. The HTML after limit bytes
// becomes plain text, in which hidden elements are left out as well as can be without a
// tree.
func reduce(source string, limit int) *reduced {
	r := &reducer{
		z: html.NewTokenizer(strings.NewReader(source)), source: source, limit: limit,
		open: map[string]int{}, last: map[string]int{},
	}
	for {
		kind := r.z.Next()
		raw := r.z.Raw()
		r.at += len(raw)
		switch kind {
		case html.ErrorToken:
			if r.z.Err() != io.EOF {
				r.rest.add(string(raw))
			}
			return &r.reduced
		case html.TextToken:
			r.text(raw)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := r.z.TagName()
			r.start(string(name), more, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := r.z.TagName()
			r.end(string(name))
		}
	}
}

// plain reports whether the limit is reached.
func (r *reducer) plain() bool { return r.html.Len() >= r.limit }

func (r *reducer) text(raw []byte) {
	switch {
	case r.skip == "title":
		if r.title == "" {
			r.title = oneLine(tidyText(html.UnescapeString(string(raw))), maxTitle)
		}
	case r.skip != "":
	case r.plain():
		r.rest.add(html.UnescapeString(string(raw)))
	default:
		r.html.Write(raw)
	}
}

func (r *reducer) start(name string, more, closed bool) {
	if r.skip != "" {
		switch {
		case r.skip != name:
			return
		case !implied[name]:
			if !closed {
				r.depth++
			}
			return
		}
		r.skip = ""
	}
	switch {
	case rawText[name] || name == "title" || unseen[name] && !closed && r.closes(name):
		r.skip, r.depth = name, 1
		return
	case bare[name], unseen[name], len(name) > maxName, inTable[name] && r.open["table"] == 0 && !r.plain(),
		(name == "html" || name == "head" || name == "body") && r.open[name] > 0:
		return
	case name == "noscript":
		r.z.NextIsNotRawText()
	}
	kept, hidden := r.attributes(name, more)
	if r.plain() {
		if hidden && !closed && r.closes(name) {
			r.skip, r.depth = name, 1
			return
		}
		r.rest.tag(name, true)
		return
	}
	if name == "code" && r.before == "pre" {
		name = "span" // its class names a language, and code is a formatting element
	}
	r.open[name]++
	r.before = name
	r.html.WriteByte('<')
	r.html.WriteString(name)
	for _, a := range kept {
		r.html.WriteByte(' ')
		r.html.WriteString(a.Key)
		r.html.WriteString(`="`)
		r.html.WriteString(html.EscapeString(a.Val))
		r.html.WriteByte('"')
	}
	if closed {
		r.html.WriteString(" /")
	}
	r.html.WriteByte('>')
}

func (r *reducer) end(name string) {
	if r.skip != "" {
		switch {
		case r.skip == name:
			r.depth--
		case !implied[r.skip] || implied[name] || !paragraphs[name] && !lines[name]:
			return
		default: // the end of an element around
			r.depth = 0
		}
		if r.depth <= 0 {
			r.skip = ""
		}
		return
	}
	if r.plain() {
		r.rest.tag(name, false)
		return
	}
	// An end tag that ends nothing splits a text, which the parser joins again in
	// quadratic time. For a missing p, it makes one.
	if r.open[name] == 0 {
		return
	}
	r.open[name]--
	r.html.WriteString("</")
	r.html.WriteString(name)
	r.html.WriteByte('>')
}

// closes reports whether an end tag for name follows.
func (r *reducer) closes(name string) bool {
	last, ok := r.last[name]
	if !ok {
		if len(r.last) == 100 { // a hostile page
			return true
		}
		last = max(strings.LastIndex(r.source, "</"+name), strings.LastIndex(r.source, "</"+strings.ToUpper(name)))
		r.last[name] = last
	}
	return last >= r.at
}

// attributes returns the attributes of the tag that are of use, and whether one of them
// hides its element.
func (r *reducer) attributes(name string, more bool) (kept []html.Attribute, hidden bool) {
	seen := map[string]bool{}
	var key, val []byte
	for more {
		key, val, more = r.z.TagAttr()
		if !known[string(key)] || seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		k, v := string(key), strings.TrimSpace(tidyText(string(val)))
		switch k {
		case "hidden":
			hidden = true
		case "aria-hidden":
			hidden = hidden || strings.EqualFold(v, "true") && name != "main"
		case "style":
			hidden = hidden || hides(v)
		case "open":
			if name == "dialog" {
				kept = append(kept, html.Attribute{Key: k})
			}
		default:
			if useful(name, k, v, r.before) {
				kept = append(kept, html.Attribute{Key: k, Val: v})
			}
		}
	}
	// Pages hide their body until a script has run.
	hidden = (hidden || name == "dialog" && !seen["open"]) && name != "html" && name != "body"
	if hidden {
		kept = append(kept, html.Attribute{Key: "hidden"})
	}
	return kept, hidden
}

var known = set("hidden aria-hidden style open class id role href src data-src alt width height colspan rowspan align start")

// useful reports whether an attribute of the element name is of use.
func useful(name, key, val, before string) bool {
	switch key {
	case "href":
		return (name == "a" || name == "base") && len(val) <= maxAddress
	case "src", "data-src", "alt", "width", "height":
		limit := maxAttribute
		if key == "src" || key == "data-src" {
			limit = maxAddress
		}
		return name == "img" && len(val) <= limit && !hasScheme(val, "data")
	case "colspan", "rowspan", "align":
		return (name == "td" || name == "th") && len(val) <= 10
	case "start":
		return name == "ol" && len(val) <= 10
	case "class", "id", "role":
		if name == "code" {
			return key == "class" && before == "pre" && len(val) <= maxAttribute
		}
		return !phrasing[name] && name != "span" && len(val) <= maxAttribute
	}
	return false
}

// hides reports whether a style attribute makes its element invisible.
func hides(style string) bool {
	for decl := range strings.SplitSeq(strings.ToLower(style), ";") {
		property, value, _ := strings.Cut(decl, ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		switch strings.TrimSpace(property) {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "opacity", "font-size":
			if strings.Trim(value, "0.%pxemrt") == "" && strings.HasPrefix(strings.TrimPrefix(value, "."), "0") {
				return true
			}
		}
	}
	return false
}

// hasScheme reports whether address has the scheme, as browsers read it.
func hasScheme(address, scheme string) bool {
	if len(address) < len(scheme) {
		return false
	}
	rest := address
	for i := range len(scheme) {
		rest = strings.TrimLeft(rest, "\t\n\r")
		if rest == "" || rest[0]|0x20 != scheme[i] {
			return false
		}
		rest = rest[1:]
	}
	return strings.HasPrefix(strings.TrimLeft(rest, "\t\n\r"), ":")
}
