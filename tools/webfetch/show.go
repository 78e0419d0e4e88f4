package webfetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"mcp-toolset/internal/file/document/page"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/read"
	"mcp-toolset/web/fetch"
)

// call is the state of one call.
type call struct {
	Options
	env  *tools.Env
	in   prepared
	page *fetch.Page
}

// kind selects how a page is shown.
type kind int

const (
	textPage kind = iota
	htmlPage
	documentPage // a picture, a PDF file or a notebook
	binaryPage
)

// headSize is the number of bytes that determine the kind of a page.
const headSize = 8 << 10

// ipynb is the media type of notebooks.
const ipynb = "application/x-ipynb+json"

// kind determines the kind of the page from its content, as Read does, and that of text from
// its type. It also returns the type and the extension of a file of the kind.
func (c *call) kind() (k kind, name, extension string, err error) {
	head := make([]byte, headSize)
	n, err := c.page.File().ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return 0, "", "", err
	}
	head = head[:n]
	name, extension = c.page.Type, strings.ToLower(path.Ext(c.page.URL.Path))
	html := name == "text/html" || name == "application/xhtml+xml"
	switch {
	case name == ipynb:
		extension = ".ipynb"
	case html && extension == ".ipynb":
		extension = "" // a page about the notebook
	}
	isText, isDocument, found := read.Classify(head, extension)
	m := mimetype.Detect(head)
	switch {
	case isDocument && found == "text/plain":
		return documentPage, ipynb, ".ipynb", nil
	case isDocument && found == "application/pdf":
		return documentPage, found, ".pdf", nil // some have other data before their header
	case isDocument:
		return documentPage, found, m.Extension(), nil
	case !isText:
		if m.Parent() != nil || name == "" {
			name = m.String()
		}
		return binaryPage, name, cmp.Or(m.Extension(), ".bin"), nil
	case html, name == "" && m.Is("text/html"):
		return htmlPage, name, ".md", nil
	}
	return textPage, name, ".txt", nil
}

// show returns the answer to the call.
func (c *call) show(ctx context.Context) (Output, error) {
	if to := c.page.Redirect; to != nil {
		out := Output{URL: c.page.URL.String(), Redirect: to.String()}
		out.shown = text(fmt.Sprintf("%s redirects to another site, which was not fetched. If you need the page, call WebFetch with this URL:\n%s\n%s",
			plain.Line(out.URL), plain.Text(out.Redirect), tools.WebReminder))
		return out, nil
	}
	k, name, extension, err := c.kind()
	if err != nil {
		return Output{}, fmt.Errorf("reading the page: %w", err)
	}
	switch k {
	case documentPage:
		return c.document(ctx, name, extension)
	case binaryPage:
		return c.binary(name, extension)
	}
	return c.text(ctx, k == htmlPage, name, extension)
}

// text shows a part of a page of text.
func (c *call) text(ctx context.Context, html bool, name, extension string) (Output, error) {
	p, err := c.converted(ctx, html)
	if err != nil {
		return Output{}, err
	}
	out := Output{URL: c.page.URL.String(), Title: p.Title, ContentType: name, Offset: c.in.Offset}
	if out.Total = utf8.RuneCountInString(p.Text); out.Offset > 0 && out.Offset >= out.Total {
		return Output{}, fault.New(fmt.Sprintf("the page has %d characters, and the offset is %d", out.Total, out.Offset), "Use a smaller offset.")
	}
	if out.Text = part(p.Text, out.Offset); out.Offset+utf8.RuneCountInString(out.Text) < out.Total {
		out.Next = out.Offset + utf8.RuneCountInString(out.Text)
	}
	reply, answered, failure := c.answer(ctx, p)
	if ctx.Err() != nil {
		return Output{}, context.Cause(ctx)
	}
	if out.Next > 0 || out.Offset > 0 || answered {
		if out.Path, err = c.file(strings.NewReader(p.Text), extension); err != nil {
			c.env.Log.Warn("a web page was not stored", "error", err)
		}
	}
	if answered {
		out.Text, out.Next, out.Answer = "", 0, reply.text
		out.shown = text(c.frameAnswer(out, reply))
		return out, nil
	}
	out.shown = text(c.frame(out, p.Note, failure))
	return out, nil
}

// frame returns the answer with a part of a page. failure is why no model has answered the prompt,
// or "" if none is there.
func (c *call) frame(out Output, note, failure string) string {
	facts := c.facts(out)
	if size := utf8.RuneCountInString(out.Text); size < out.Total {
		facts = append(facts, fmt.Sprintf("characters %d to %d of %d", out.Offset, out.Offset+size, out.Total))
	}
	var b strings.Builder
	b.WriteString(c.heading(facts...) + "\n")
	if strings.TrimSpace(out.Text) == "" && note == "" {
		note = "the page is empty"
	}
	if strings.TrimSpace(out.Text) != "" {
		mark := c.mark()
		fmt.Fprintf(&b, "<page-%s>\n%s\n</page-%s>\n", mark, strings.TrimSuffix(out.Text, "\n"), mark)
	}
	if note != "" {
		fmt.Fprintf(&b, "[%s]\n", note)
	}
	if out.Next > 0 {
		fmt.Fprintf(&b, "[The page goes on: continue with offset %d.", out.Next)
		if out.Path != "" {
			fmt.Fprintf(&b, " The whole page is in %s, for Grep and Read.", plain.Line(out.Path))
		}
		b.WriteString("]\n")
	}
	if failure != "" {
		fmt.Fprintf(&b, "[No model has answered the prompt, so this is the page itself: %s]\n", failure)
	} else {
		b.WriteString(c.unprompted())
	}
	b.WriteString(tools.WebReminder)
	return b.String()
}

// facts returns what the heading of a page of text has.
func (c *call) facts(out Output) []string {
	facts := []string{}
	if out.Title != "" {
		facts = append(facts, strconv.Quote(out.Title)) // a title must not end the line
	}
	if out.ContentType != "" {
		facts = append(facts, plain.Line(out.ContentType))
	}
	return facts
}

// unprompted returns the line for a prompt that nothing applies.
func (c *call) unprompted() string {
	switch {
	case c.in.Prompt == "":
		return ""
	case c.Model != nil:
		return "[The model answers prompts only from pages of text.]\n"
	}
	return "[No model is configured to apply the prompt, so this is the page itself.]\n"
}

// part returns the characters of a text from an offset on, at most pageSize. It ends at the
// end of a line if there is one in its last tenth.
func part(s string, offset int) string {
	from := runeIndex(s, offset)
	s = s[from:]
	end := runeIndex(s, pageSize)
	if end == len(s) {
		return s
	}
	if i := strings.LastIndexByte(s[:end], '\n'); i+1 > end-end/10 {
		end = i + 1
	}
	return s[:end]
}

// runeIndex returns the offset in bytes of the nth character of s, or the length of s.
func runeIndex(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// converted returns the page as text without invisible characters.
func (c *call) converted(ctx context.Context, html bool) (*page.Page, error) {
	data, err := c.page.Derive(func() (string, error) {
		p, err := c.Documents.Page(ctx, c.page.File(), c.page.Size, page.Request{
			URL: c.base(), Charset: c.page.Params["charset"], HTML: html,
		})
		if err != nil {
			return "", c.about(err)
		}
		text := strings.Map(visible, p.Text)
		head, err := json.Marshal(page.Page{Title: strings.Map(visible, p.Title), Note: p.Note})
		return string(head) + "\n" + text, err // JSON would make some texts six times as long
	})
	if err != nil {
		return nil, err
	}
	p := new(page.Page)
	head, text, _ := strings.Cut(data, "\n")
	if err := json.Unmarshal([]byte(head), p); err != nil {
		return nil, fmt.Errorf("reading a converted page: %w", err)
	}
	p.Text = text
	return p, nil
}

// base returns the URL that relative addresses refer to. It has no query, which may be secret:
// other users of the machine can see the arguments of the process that converts the page.
func (c *call) base() string {
	u := *c.page.URL
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	return u.String()
}

// visible drops characters that control a terminal or hide text from a reader. It keeps
// those that join and part the letters of scripts and emoji, and select the form of emoji.
func visible(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\u200c', r == '\u200d', r == '\ufe0e', r == '\ufe0f':
		return r
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return -1
	}
	return r
}

// about makes the page the subject of a fault of its reader.
func (c *call) about(err error) error {
	if f, ok := err.(*fault.Fault); ok {
		return fault.New(plain.Line(c.page.URL.String())+" "+f.Fact, f.Next)
	}
	return err
}

// file stores a page under a name that only depends on its content. It reads r piece by piece,
// also one that would write itself at once.
func (c *call) file(r io.ReadSeeker, extension string) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, struct{ io.Reader }{r}); err != nil {
		return "", fmt.Errorf("reading the page: %w", err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return c.env.Results.SaveFile(fmt.Sprintf("web-%x%s", sum.Sum(nil)[:16], extension), struct{ io.Reader }{r})
}

// body stores the page as it was sent.
func (c *call) body(extension string) (string, error) {
	return c.file(io.NewSectionReader(c.page.File(), 0, c.page.Size), extension)
}

// binary stores a page that cannot be shown.
func (c *call) binary(name, extension string) (Output, error) {
	path, err := c.body(extension)
	if err != nil {
		return Output{}, err
	}
	out := Output{URL: c.page.URL.String(), ContentType: name, Path: path}
	out.shown = text(fmt.Sprintf("%s\n[It is a file that cannot be shown. It is stored in %s.]",
		c.heading(plain.Line(name), fmt.Sprintf("%d bytes", c.page.Size)), plain.Line(path)))
	return out, nil
}

// document stores a document and shows it by Read, which also reads the rest of it.
func (c *call) document(ctx context.Context, name, extension string) (Output, error) {
	path, err := c.body(extension)
	if err != nil {
		return Output{}, err
	}
	args, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return Output{}, err
	}
	resp, err := c.env.Call(ctx, "Read", args)
	if err != nil {
		return Output{}, err
	}
	out := Output{URL: c.page.URL.String(), ContentType: name, Path: path, failed: resp.Failed}
	mark := c.mark()
	heading := c.heading(name, fmt.Sprintf("%d bytes", c.page.Size)) + fmt.Sprintf("\n[It is stored in %s, and shown by Read.]\n<page-%s>", plain.Line(path), mark)
	out.shown = append(append(text(heading), resp.Content...), tools.Text{Text: fmt.Sprintf("</page-%s>\n%s%s", mark, c.unprompted(), tools.WebReminder)})
	return out, nil
}

func text(s string) []tools.Content { return []tools.Content{tools.Text{Text: s}} }
