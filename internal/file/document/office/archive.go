package office

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"mcp-toolset/internal/text/fault"
)

// Limits of a file.
const (
	// maxEntries is the limit of files in an archive. A workbook has one for each sheet, a
	// presentation about four for each slide.
	maxEntries = 50_000
	// maxUnpacked is the limit of all XML that is read, in bytes. A sheet of 100,000 rows
	// and 20 columns has about 100 MB.
	maxUnpacked = 256 << 20
	// maxDepth is the limit of nested elements. Documents with tables in text boxes in
	// tables have about 60.
	maxDepth = 400
	// maxText is the limit of text that is held, in bytes.
	maxText = 32 << 20
)

// unpackLimit is maxUnpacked, except in tests.
var unpackLimit int64 = maxUnpacked

// archive is an open file.
type archive struct {
	entries map[string]*zip.File // by name without a leading slash, in lower case
	left    int64                // bytes that may still be unpacked
	text    int                  // bytes of text that may still be held
}

func openArchive(file io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(file, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, damaged("it is no ZIP archive, or its end is missing")
	}
	if len(z.File) > maxEntries {
		return nil, tooLarge(fmt.Sprintf("has %d parts, over the limit of %d", len(z.File), maxEntries))
	}
	a := &archive{entries: make(map[string]*zip.File, len(z.File)), left: unpackLimit, text: maxText}
	for _, f := range z.File {
		name := key(f.Name)
		if _, twice := a.entries[name]; !twice {
			a.entries[name] = f
		}
	}
	return a, nil
}

func key(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

func damaged(why string) error {
	return &fault.Fault{Fact: "is damaged: " + why, Next: "Get the file again from where it came from."}
}

func tooLarge(fact string) error {
	return &fault.Fault{Fact: fact, Next: "Ask the user for a smaller file with the same content."}
}

func needsPassword() error {
	return &fault.Fault{Fact: "is encrypted and needs a password", Next: "Ask the user for a copy without a password."}
}

// has reports whether there is a part.
func (a *archive) has(name string) bool { return a.entries[key(name)] != nil }

// open returns the XML of a part. A part that does not exist is empty.
func (a *archive) open(name string) (*tokens, error) {
	f := a.entries[key(name)]
	if f == nil {
		return &tokens{d: xml.NewDecoder(strings.NewReader("")), name: name, close: func() {}}, nil
	}
	if f.Flags&1 != 0 {
		return nil, needsPassword()
	}
	r, err := f.Open()
	if err != nil {
		return nil, damaged("its part " + path.Base(name) + " cannot be unpacked")
	}
	return &tokens{d: decoder(&counted{r, a}), name: name, close: func() { _ = r.Close() }}, nil
}

// decoder returns a decoder for XML in UTF-8, UTF-16 or an encoding that it declares.
func decoder(r io.Reader) *xml.Decoder {
	b := bufio.NewReader(r)
	first, _ := b.Peek(2)
	r = b
	switch string(first) {
	case "\xFE\xFF", "\x00<":
		r = unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(b)
	case "\xFF\xFE", "<\x00":
		r = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(b)
	}
	d := xml.NewDecoder(r)
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		e, err := htmlindex.Get(label)
		if err != nil || r != io.Reader(b) {
			return in, err // UTF-16 is decoded already
		}
		return e.NewDecoder().Reader(in), nil
	}
	return d
}

var errUnpacked = errors.New("too much to unpack")

// counted counts what is unpacked.
type counted struct {
	r io.Reader
	a *archive
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.a.left -= int64(n); c.a.left < 0 {
		return 0, errUnpacked
	}
	return n, err
}

// hold counts text that is held.
func (a *archive) hold(n int) error {
	if a.text -= n; a.text < 0 {
		return tooLarge(fmt.Sprintf("has more than %d MiB of text", maxText>>20))
	}
	return nil
}

// tokens is the XML of a part. Names have no namespace: its prefixes are ignored.
type tokens struct {
	d     *xml.Decoder
	name  string
	depth int
	close func()
}

// next returns the next start, end or text. At the end it returns io.EOF.
func (t *tokens) next() (xml.Token, error) {
	for {
		token, err := t.d.RawToken() // knows only the five entities of XML, and opens nothing
		switch token := token.(type) {
		case xml.StartElement:
			if t.depth++; t.depth > maxDepth {
				return nil, damaged(fmt.Sprintf("its part %s is nested more than %d deep", path.Base(t.name), maxDepth))
			}
			return token, nil
		case xml.EndElement:
			t.depth--
			return token, nil
		case xml.CharData:
			return token, nil
		}
		switch {
		case err == nil:
		case err == io.EOF && t.depth <= 0:
			return nil, err
		case errors.Is(err, errUnpacked):
			return nil, tooLarge(fmt.Sprintf("unpacks to more than %d MB", unpackLimit>>20))
		default:
			return nil, damaged("its part " + path.Base(t.name) + " is not valid XML")
		}
	}
}

// skip skips the rest of the element whose start was read last.
func (t *tokens) skip() error {
	for end := t.depth - 1; t.depth > end; {
		if _, err := t.next(); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// unexpected returns the error for a part that ends inside of an element.
func unexpected(err error) error {
	if err == io.EOF {
		return damaged("one of its parts ends early")
	}
	return err
}

// each calls do for each start of an element within the element whose start was read last;
// at depth 0, within the part. do may read on, up to the end of its element.
func (t *tokens) each(do func(e xml.StartElement) error) error {
	return t.walk(do, nil)
}

// walk is each with a function for text.
func (t *tokens) walk(do func(e xml.StartElement) error, text func(string) error) error {
	end := t.depth - 1
	for {
		token, err := t.next()
		if err == io.EOF && end < 0 {
			return nil
		}
		if err != nil {
			return unexpected(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := do(token); err != nil {
				return err
			}
		case xml.CharData:
			if text != nil {
				if err := text(string(token)); err != nil {
					return err
				}
			}
		}
		if t.depth <= end {
			return nil
		}
	}
}

// content returns the text of the element whose start was read last.
func (t *tokens) content() (string, error) {
	var b strings.Builder
	err := t.walk(func(xml.StartElement) error { return nil }, func(s string) error {
		b.WriteString(s)
		return nil
	})
	return b.String(), err
}

// attr returns an attribute, by its name without a prefix.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// prefixed returns an attribute with a prefix, such as r:id, which id is not.
func prefixed(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// relation is a reference from a part to another.
type relation struct {
	kind   string // the last step of its type
	target string // the name of a part, or a URL
}

// relations returns the references of a part by id; "": those of the archive.
func (a *archive) relations(part string) (map[string]relation, error) {
	dir, base := path.Split(part)
	t, err := a.open(dir + "_rels/" + base + ".rels")
	if err != nil {
		return nil, err
	}
	defer t.close()
	out := map[string]relation{}
	err = t.each(func(e xml.StartElement) error {
		if e.Name.Local == "Relationship" {
			r := relation{kind: path.Base(attr(e, "Type")), target: attr(e, "Target")}
			if attr(e, "TargetMode") != "External" && !strings.HasPrefix(r.target, "/") && !strings.HasPrefix(r.target, "#") {
				r.target = path.Join(dir, r.target)
			}
			out[attr(e, "Id")] = r
		}
		return nil
	})
	return out, err
}

// mainPart returns the name of the part with the content, or "".
func (a *archive) mainPart() string {
	rels, _ := a.relations("")
	for _, r := range rels {
		if r.kind == "officeDocument" && a.has(r.target) {
			return key(r.target)
		}
	}
	for _, name := range []string{"word/document.xml", "xl/workbook.xml", "ppt/presentation.xml", "xl/workbook.bin"} {
		if a.has(name) {
			return name
		}
	}
	return ""
}

// related returns the first part of a kind.
func related(rels map[string]relation, kind string) string {
	for _, r := range rels {
		if r.kind == kind {
			return r.target
		}
	}
	return ""
}
