// Package lsp provides the tools LSP, which asks language servers about code, and LSPApply,
// which applies changes that LSP previewed.
package lsp

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	server "mcp-toolset/lsp"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Options holds the services of the tools. A call requires all of them.
type Options struct {
	Servers  *server.Manager
	Change   file.Options // with which LSPApply changes files
	Previews *Previews
	Learn    func(*tools.Env, string) // called after a question about a file: see Learner; nil: not called
}

// Input holds the arguments of LSP.
type Input struct {
	Operation string `json:"operation" enum:"goToDefinition,findReferences,hover,documentSymbol,workspaceSymbol,goToImplementation,goToTypeDefinition,prepareCallHierarchy,incomingCalls,outgoingCalls,diagnostics,rename,codeActions" jsonschema:"What to ask"`
	FilePath  string `json:"filePath" minLength:"1" jsonschema:"The file: absolute, starting with ~, or relative to the working directory"`
	Line      int    `json:"line,omitempty" minimum:"1" jsonschema:"The line of the place, from 1"`
	Character int    `json:"character,omitempty" minimum:"1" jsonschema:"The column of the place in characters, from 1"`
	Symbol    string `json:"symbol,omitempty" minLength:"1" jsonschema:"A name in the file, in place of character and mostly of line; Type.method for a method"`
	Query     string `json:"query,omitempty" minLength:"1" jsonschema:"For workspaceSymbol: a name or part of one. For findReferences: a part of the paths to show"`
	NewName   string `json:"newName,omitempty" minLength:"1" jsonschema:"For rename: the new name"`
}

// Output holds the answer of LSP.
type Output struct {
	Operation string `json:"operation" jsonschema:"What was asked"`
	Server    string `json:"server" jsonschema:"Name of the language server"`
	Results   int    `json:"results" jsonschema:"Number of results, including those that are not shown"`

	text string
}

//go:embed prompt.md
var prompt string

// MaxResult is the limit of an answer in characters.
const maxResult = 40_000

// New returns the tools LSP and LSPApply.
func New(o Options) []*tools.Tool { return []*tools.Tool{newLSP(o), newApply(o)} }

func newLSP(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:        "LSP",
		Title:       "Ask a language server",
		Prompt:      prompt,
		SearchHint:  "code definition references hover types symbols diagnostics rename language server",
		Loading:     tools.LoadDeferred,
		Description: func(in Input) string { return "Ask about code: " + in.Operation + " in " + in.FilePath },
		Summary: func(in Input, r tools.Result[Output]) string {
			return in.Operation + ": " + tools.Count(r.Data.Results, "result")
		},

		MaxResultSize:     maxResult,
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.When(func(_ *tools.Env, in Input) bool { return !in.previews() }),
		// A preview belongs to one session.
		Shared:  tools.When(func(env *tools.Env, in Input) bool { return !in.previews() && file.Shared(env, in.FilePath) }),
		Path:    func(in Input) string { return in.FilePath },
		Prepare: prepare,
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			out, err := run(ctx, env, in, o)
			return tools.Result[Output]{Data: out}, err
		},
		Render: func(o Output) []tools.Content { return file.Shown(o.text) },
	})
}

// previews reports whether the answer is a change that LSPApply applies.
func (in Input) previews() bool { return in.Operation == "rename" || in.Operation == "codeActions" }

// methods maps operations to requests of the protocol.
var methods = map[string]string{
	"goToDefinition": "textDocument/definition", "goToImplementation": "textDocument/implementation", "goToTypeDefinition": "textDocument/typeDefinition",
	"findReferences": "textDocument/references", "hover": "textDocument/hover", "documentSymbol": "textDocument/documentSymbol", "workspaceSymbol": "workspace/symbol",
	"prepareCallHierarchy": "textDocument/prepareCallHierarchy", "incomingCalls": "textDocument/prepareCallHierarchy", "outgoingCalls": "textDocument/prepareCallHierarchy",
	"rename": "textDocument/rename", "codeActions": "textDocument/codeAction",
}

// ofFile lists the operations that need no place.
var ofFile = []string{"documentSymbol", "workspaceSymbol", "diagnostics"}

func prepare(env *tools.Env, in Input) (Input, error) {
	file.CompletePath(env, &in.FilePath)
	if err := file.CheckPath(in.FilePath); err != nil {
		return in, err
	}
	place := in.Symbol != "" || in.Line > 0 && (in.Character > 0 || in.Operation == "codeActions")
	switch {
	case in.Operation == "workspaceSymbol" && in.Query == "":
		return in, fault.New("workspaceSymbol needs a query", "Give a name or a part of one as query.")
	case in.Operation == "rename" && in.NewName == "":
		return in, fault.New("rename needs a newName", "Give the new name as newName.")
	case !slices.Contains(ofFile, in.Operation) && !place:
		return in, fault.New(in.Operation+" needs a place", "Give symbol, or line and character.")
	}
	return in, nil
}

// progressEvery is the interval of reports of progress.
const progressEvery = time.Second

// question is a call while it is answered.
type question struct {
	in     Input
	env    *tools.Env
	path   string // canonical
	text   *server.Text
	info   os.FileInfo // the file before it was read
	file   string      // where it was read
	client *server.Client
	files  *lines
	notes  []string
	left   int // number of results in hidden files, which are left out

	asked atomic.Pointer[server.Client] // the server, for reports of progress; nil until it has started
}

func run(ctx context.Context, env *tools.Env, in Input, o Options) (Output, error) {
	q := &question{in: in, env: env}
	limited, cancel := server.Limit(ctx)
	defer cancel()
	defer q.showProgress()()
	out, err := q.once(limited, o)
	// The server may have ended before the question, and the file may have changed during it.
	if server.HasEnded(err) && o.Servers.Why(q.client, err) == err || server.HasChanged(err) {
		out, err = q.once(limited, o)
	}
	if err != nil {
		return Output{}, q.failure(ctx, o, err)
	}
	if o.Learn != nil {
		o.Learn(env, q.path)
	}
	if (in.Operation == "diagnostics") == (out.Results > 0) {
		q.notes = append(q.notes, lacks(q.client)...)
	}
	if q.left > 0 {
		q.notes = append(q.notes, "in files that the rules hide: "+file.Plural(q.left, "more result"))
	}
	for _, n := range q.notes {
		out.text += "\n[" + n + "]"
	}
	return out, nil
}

// showProgress reports what the server does, once a second until end is called: a question waits
// while the server starts and indexes.
func (q *question) showProgress() (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begun, life := time.Now(), time.NewTicker(progressEvery)
		defer life.Stop()
		for {
			select {
			case <-stop:
				return
			case <-life.C:
			}
			message := "a language server starts"
			if c := q.asked.Load(); c != nil {
				message = c.Server.Name + ": " + plain.Line(cmp.Or(c.Doing(), "answers "+q.in.Operation))
			}
			q.env.Progress(tools.Progress{Done: time.Since(begun).Seconds(), Message: message})
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

// once reads the file and asks a server.
func (q *question) once(ctx context.Context, o Options) (out Output, err error) {
	var data []byte
	if data, q.info, q.path, err = readFile(q.env, q.in.FilePath); err != nil {
		return out, err
	}
	if q.text, err = server.NewText(data); err != nil {
		return out, fault.New(plain.Line(q.in.FilePath)+" is not text in UTF-8, which language servers need", "Use Read or Grep.")
	}
	q.files, q.notes, q.left = newLines(q.env), nil, 0
	q.file, q.path = q.path, q.env.Name(q.path) // the server has the folders of commands
	q.files.texts[q.path] = q.text
	client, done, err := o.Servers.For(ctx, server.In(q.env.Session), q.path)
	if err != nil {
		return out, err
	}
	defer done()
	q.client = client
	q.asked.Store(client)
	if err := client.Open(ctx, q.path, q.file, q.text, q.info); err != nil {
		return out, err
	}
	out = Output{Operation: q.in.Operation, Server: client.Server.Name}
	out.text, out.Results, err = q.answer(ctx, o)
	return out, err
}

// failure returns the error for a question that the server did not answer.
func (q *question) failure(ctx context.Context, o Options, err error) error {
	var f *fault.Fault
	if errors.As(err, &f) || ctx.Err() != nil {
		return err
	}
	if q.client == nil {
		return fault.New("no language server was ready in time", "Try once more, then use Grep and Read.")
	}
	next := "Try once more, then use Grep and Read."
	if server.Refused(err) {
		next = "Use another place or operation, or Grep and Read."
	}
	return fault.New(q.client.Server.Name+" failed at "+q.in.Operation+": "+strings.Join(append([]string{fact(o.Servers.Why(q.client, err))}, lacks(q.client)...), "; "), next)
}

// lacks returns notes on what a server could not read or reach, which may be the reason that it
// found too little or too many problems.
func lacks(c *server.Client) (notes []string) {
	if c.HidesSources() {
		notes = append(notes, "the rules hide files of the project from "+c.Server.Name+", so that names or imports may seem to be missing")
	}
	for _, f := range c.Unreached() {
		notes = append(notes, c.Server.Name+" did not connect: "+f)
	}
	return notes
}

// fact returns an error as a clause, to which a next step is added.
func fact(err error) string {
	text := err.Error()
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		text = f.Fact
	}
	return strings.TrimRight(plain.Line(text), ". ")
}

// answer asks the server and returns the text of the answer, and the number of results.
func (q *question) answer(ctx context.Context, o Options) (string, int, error) {
	if method := methods[q.in.Operation]; method != "" && !q.client.Provides(method) {
		return "", 0, fault.New(q.client.Server.Name+" does not answer "+q.in.Operation, "Use another operation, or Grep and Read.")
	}
	switch q.in.Operation {
	case "diagnostics":
		return q.diagnostics(ctx)
	case "documentSymbol":
		return q.outline(ctx)
	case "workspaceSymbol":
		return q.symbols(ctx)
	}
	at, err := q.place(ctx)
	if err != nil {
		return "", 0, err
	}
	switch q.in.Operation {
	case "hover":
		return q.hover(ctx, at)
	case "prepareCallHierarchy", "incomingCalls", "outgoingCalls":
		return q.calls(ctx, at)
	case "rename":
		return q.rename(ctx, at, o.Previews)
	case "codeActions":
		return q.actions(ctx, at, o.Previews)
	}
	return q.locations(ctx, at)
}

// ask sends a request.
func (q *question) ask(ctx context.Context, method string, params, result any) error {
	note, err := q.client.Ask(ctx, method, params, result)
	if note != "" && !slices.Contains(q.notes, note) {
		q.notes = append(q.notes, note)
	}
	return err
}

// at returns a place for the model, as path:line:column, and its line.
func (q *question) at(path string, p server.Position) (place, line string) {
	return q.files.shown(path) + ":" + q.files.place(q.client, path, p), q.files.line(path, p)
}
