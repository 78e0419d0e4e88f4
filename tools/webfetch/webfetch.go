// Package webfetch provides the tool WebFetch, which shows web pages as Markdown.
//
// Package web/fetch gets the page. The process that reads documents converts it
// (internal/file/document). A document such as a PDF file is stored and shown by Read.
package webfetch

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"mcp-toolset/internal/file/document"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/web/fetch"
	"mcp-toolset/web/site"
)

// pageSize is the limit of the text of one answer, in characters.
const pageSize = 50_000

// Options holds the services of the tool. A call requires Client and Documents.
type Options struct {
	Client    *fetch.Client
	Documents *document.Reader
	// Model answers prompts from pages. nil: there is none, and a prompt has no effect.
	Model models.Model
	// Local connects to a port of the network of a session's commands. It may be nil.
	Local func(ctx context.Context, v session.View, port uint16) (net.Conn, error)

	now  func() time.Time // time.Now, except in tests
	mark func() string    // marks the ends of a page; random, except in tests
}

// Input holds the arguments of WebFetch.
type Input struct {
	URL    string `json:"url" minLength:"1" jsonschema:"The page; http becomes https, except on this machine"`
	Prompt string `json:"prompt,omitempty" jsonschema:"What to look for in the page; if the user has configured a model, it answers from the page"`
	Offset int    `json:"offset,omitempty" minimum:"0" jsonschema:"Character of the page to begin at"`
}

// prepared is the input with what Prepare derives from it.
type prepared struct {
	Input
	url  *url.URL
	site site.Site
}

// Output holds a part of a page.
type Output struct {
	URL         string `json:"url" jsonschema:"The page, after redirects within its site"`
	Redirect    string `json:"redirect,omitempty" jsonschema:"The page is there, at another site, and was not fetched"`
	Title       string `json:"title,omitempty" jsonschema:"Title of the page"`
	ContentType string `json:"content_type,omitempty" jsonschema:"Media type"`
	Text        string `json:"text,omitempty" jsonschema:"Part of the page, as Markdown"`
	Offset      int    `json:"offset,omitempty" jsonschema:"Character of the page that text begins at"`
	Next        int    `json:"next,omitempty" jsonschema:"Offset of the following part; missing at the end"`
	Total       int    `json:"total,omitempty" jsonschema:"Characters of the page"`
	Path        string `json:"path,omitempty" jsonschema:"File with the whole page"`
	Answer      string `json:"answer,omitempty" jsonschema:"What a model answers to prompt from the page, in place of text"`

	shown  []tools.Content
	failed bool // Read does not show the document
}

//go:embed prompt.md
var prompt string

// New returns the tool WebFetch.
func New(o Options) *tools.Tool {
	if o.now == nil {
		o.now = time.Now
	}
	if o.mark == nil {
		o.mark = func() string { return strings.ToLower(rand.Text()[:8]) }
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:        "WebFetch",
		Title:       "Fetch web page",
		Prompt:      prompt,
		SearchHint:  "fetch web page URL download website docs http",
		Description: func(in prepared) string { return "Fetch " + plain.Line(in.URL) },
		Summary: func(in prepared, r tools.Result[Output]) string {
			switch {
			case r.Data.Redirect != "":
				return "Not fetched: it is at " + plain.Line(r.Data.Redirect)
			case r.Data.Text == "":
				return ""
			}
			return "Fetched " + plain.Line(r.Data.URL) + ": " + tools.Count(r.Data.Total, "character")
		},
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		IsOpenWorld:       tools.Always[prepared](),
		Prepare: func(_ *tools.Env, in Input) (p prepared, err error) {
			p.Input = in
			if p.url, p.site, err = site.Parse(in.URL); err != nil {
				return p, err
			}
			p.URL = p.url.String()
			return p, nil
		},
		Site:            func(in prepared) site.Site { return in.site },
		ClassifierInput: func(in prepared) string { return "Fetch " + in.URL },
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			q := fetch.Request{URL: in.url, Site: in.site, Principal: env.Session.Principal, Check: env.CheckAddr, Session: env.Session.ID}
			if o.Local != nil {
				q.Local = func(ctx context.Context, port uint16) (net.Conn, error) { return o.Local(ctx, env.Session, port) }
			}
			page, err := o.Client.Get(ctx, q)
			if err != nil {
				return tools.Result[Output]{}, err
			}
			defer page.Release()
			c := call{Options: o, env: env, in: in, page: page}
			out, err := c.show(ctx)
			return tools.Result[Output]{Data: out, Failed: out.failed}, err
		},
		Render: func(o Output) []tools.Content { return o.shown },
	})
}

// heading returns the first line of an answer: where the page is from, and its facts.
func (c *call) heading(facts ...string) string {
	if age := c.now().Sub(c.page.Fetched); age >= time.Minute {
		facts = append(facts, fmt.Sprintf("fetched %d min ago", int(age.Minutes())))
	}
	return "[" + strings.Join(append([]string{plain.Line(c.page.URL.String())}, facts...), ", ") + "]"
}
