// Package read provides the Read tool, which shows files in a form for models.
//
// The type of a file determines how it is read. Text is read in pages of numbered lines
// (text.go, scan.go, page.go, parts.go). Pictures, notebooks and PDFs are risky to parse,
// so a separate process reads them (document.go).
package read

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/document"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	FilePath string `json:"file_path" minLength:"1" jsonschema:"The file: absolute, starting with ~, or relative to the working directory"`
	Offset   int    `json:"offset,omitempty" jsonschema:"First line (notebook: cell, sheet: row), from 1; -100: the last 100"`
	Limit    int    `json:"limit,omitempty" minimum:"1" jsonschema:"How many lines (cells, rows); default: as many as fit"`
	Pages    string `json:"pages,omitempty" jsonschema:"PDF pages, sheets or slides such as 3 or 1-5, at most 20"`
	As       string `json:"as,omitempty" enum:"text,image,formulas" jsonschema:"text (default); image: PDF pages as images, which show figures; formulas: sheets with formulas for values"`
}

// Values of Input.As.
const (
	asText     = "text"
	asImage    = "image"
	asFormulas = "formulas"
)

// Options holds the settings and services of the tool.
type Options struct {
	MaxTokens int    // limit of an answer in tokens; 0: DefaultMaxTokens
	OnShort   func() // called when a repeated read gets a short answer; nil: not called
	Repeat    bool   // give a full answer to a repeated read of unchanged content
	Reminder  bool   // add a reminder to a file's content that it is data

	// Documents reads files other than text. nil: a reader without a cache.
	Documents *document.Reader

	// OnRead is called after a read of a file, with its canonical path; nil: not called. It must
	// not wait.
	OnRead func(env *tools.Env, path string)

	// Snapshots caches the contents of files as they were read or written. nil: none.
	Snapshots *snapshot.Cache

	now func() time.Time // time.Now, except in tests
}

// deadline is the timeout of a read. Counting the lines of a very large file takes seconds.
// A longer read means a file system that does not respond, or an endless file.
const deadline = 60 * time.Second

//go:embed prompt.md
var prompt string

// New returns the tool.
func New(o Options) *tools.Tool {
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	o.MaxTokens = min(max(o.MaxTokens, leastTokens), mostTokens)
	if o.Documents == nil {
		o.Documents = document.NewReader(document.Config{})
	}
	if o.now == nil {
		o.now = time.Now
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:       "Read",
		Title:      "Read file",
		Prompt:     prompt,
		SearchHint: "show view cat images, PDFs, notebooks, Word, Excel, PowerPoint",
		Description: func(in prepared) string {
			return "Read " + in.FilePath
		},
		Summary: func(in prepared, r tools.Result[Output]) string { return r.Data.summary(in.FilePath) },
		Loading: tools.LoadAlways,
		// An answer limits itself to its token budget. A single cell or PDF page can exceed
		// it and is then stored.
		MaxResultSize:     o.MaxTokens*bytesPerToken + slack,
		Excerpt:           tools.ExcerptEnds,
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		Shared:            tools.When(func(env *tools.Env, in prepared) bool { return file.Shared(env, in.FilePath) }),
		Path:              func(in prepared) string { return in.FilePath },
		Prepare:           prepare,
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			r, err := bounded.Do(ctx, deadline, func(ctx context.Context) (tools.Result[Output], error) {
				return run(ctx, env, in, o)
			})
			return r, timeoutFault(err)
		},
		Render: func(o Output) []tools.Content { return o.shown },
	})
}

// timeoutFault returns the error for a read that has exceeded its timeout.
func timeoutFault(err error) error {
	switch {
	case errors.Is(err, bounded.ErrTime):
		return &tools.Fault{
			Fact: fmt.Sprintf("the read took longer than %d seconds", int(deadline.Seconds())),
			Next: "Ask for less of the file, or try again later.",
		}
	case errors.Is(err, bounded.ErrTooMany):
		return &tools.Fault{
			Fact: "too many earlier reads still wait for a file system that does not answer",
			Next: "Try again later; if that fails too, ask the user to check the file system.",
		}
	}
	return err
}

// reading holds the state of one call.
type reading struct {
	Options
	env   *tools.Env
	in    prepared
	file  *source
	shown string // the path, safe to show

	decoded  []byte   // the text of a file in an older encoding
	notes    []string // on why the file is shown as text
	reminded bool     // the answer has a reminder
	private  bool     // the result is for this session only
}

func run(ctx context.Context, env *tools.Env, in prepared, o Options) (tools.Result[Output], error) {
	r := &reading{Options: o, env: env, in: in, shown: plain.Line(in.FilePath)}
	var err error
	if r.file, err = open(env, in, o.now); err != nil {
		return tools.Result[Output]{}, err
	}
	defer r.file.Close()
	if seen, again := r.repeats(); again {
		return r.again(seen), nil
	}
	out, err := r.read(ctx)
	if err != nil {
		return tools.Result[Output]{}, err
	}
	if err := ctx.Err(); err != nil {
		return tools.Result[Output]{}, context.Cause(ctx)
	}
	if o.OnRead != nil {
		o.OnRead(env, r.file.record().Path)
	}
	return tools.Result[Output]{
		Data: out, Effect: session.Effect{Reads: []session.Read{r.file.record()}, Reminded: r.reminded}, HookFields: out.forHooks, Private: r.private,
	}, nil
}

// checkProperties rejects properties that have no meaning for a kind of file.
func (r *reading) checkProperties(k kind) error {
	switch {
	case r.in.Pages != "" && k != pdfFile && k != officeFile:
		return &tools.Fault{Fact: r.shown + " is not a PDF file, so it has no pages", Next: "Leave out pages."}
	case r.in.As == asText && k == pictureFile:
		return &tools.Fault{Fact: r.shown + " is an image and has no text", Next: "Leave out as."}
	case r.in.As == asImage && (k == textFile || k == notebookFile || k == officeFile):
		return &tools.Fault{Fact: r.shown + ` is not a PDF file, and only pages of PDF files are shown as "image"`, Next: "Leave out as."}
	}
	if r.in.As == asFormulas && k != officeFile {
		return &tools.Fault{Fact: r.shown + ` is not a workbook, and only sheets are shown as "formulas"`, Next: "Leave out as."}
	}
	return nil
}

// read reads the file according to its kind.
func (r *reading) read(ctx context.Context) (Output, error) {
	kind, name, err := r.file.kind()
	if err != nil {
		return Output{}, file.ReadError(r.shown, err)
	}
	if kind == binaryFile && name == unknownType && r.older() {
		kind = textFile
	}
	if err := r.checkProperties(kind); err != nil && kind != binaryFile { // which no property helps
		return Output{}, err
	}
	switch kind {
	case textFile:
		return r.text(ctx)
	case pictureFile:
		return r.picture(ctx)
	case notebookFile:
		return r.notebook(ctx)
	case pdfFile:
		return r.pdf(ctx)
	case officeFile:
		return r.office(ctx)
	}
	if err := r.oldOffice(); err != nil {
		return Output{}, r.unshown(err)
	}
	fact := fmt.Sprintf("%s is a binary file (%s)", r.shown, name)
	if size := r.file.info.Size(); size > 0 { // files of /proc have size 0
		fact += " of " + plural(size, "byte")
	}
	return Output{}, r.unshown(&tools.Fault{
		Fact: fact,
		Next: "Read shows text, pictures, notebooks, PDF and office files; other tools can take it apart.",
	})
}
