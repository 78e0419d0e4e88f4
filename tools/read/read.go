// Package read is the Read tool: files as a model can use them.
package read

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/nearest"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Input is what a call is given.
type Input struct {
	FilePath string `json:"file_path" minLength:"1" jsonschema:"The file to read: absolute, starting with ~, or relative to the working directory"`
	Offset   int    `json:"offset,omitempty" minimum:"0" jsonschema:"Number of the first line to return; 1 is the first line of the file, 0 means 1"`
	Limit    int    `json:"limit,omitempty" minimum:"1" jsonschema:"Number of lines to return; leave it out to read on to the end or to the page limit"`
}

// Output is what a call found.
type Output struct {
	Type       string `json:"type" enum:"text" jsonschema:"What was read"`
	FilePath   string `json:"filePath" jsonschema:"The file, absolute"`
	Content    string `json:"content" jsonschema:"The lines returned, without numbers"`
	NumLines   int    `json:"numLines" jsonschema:"How many lines are returned"`
	StartLine  int    `json:"startLine" jsonschema:"Number of the first line returned"`
	TotalLines int    `json:"totalLines" jsonschema:"How many lines the file has; -1 when it was not read to its end"`

	page page
}

// Options are what a server can set.
type Options struct {
	MaxTokens int // largest answer in tokens; 0: DefaultMaxTokens
}

//go:embed prompt.md
var prompt string

// New makes the tool.
func New(o Options) *tools.Tool {
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	o.MaxTokens = min(o.MaxTokens, mostTokens)
	return tools.MustBuild(tools.Def[Input, Output]{
		Name:       "Read",
		Title:      "Read file",
		Prompt:     prompt,
		SearchHint: "show view open cat the contents of a file",
		Description: func(in Input) string {
			return "Read " + in.FilePath
		},
		Loading:           tools.LoadAlways,
		MaxResultSize:     tools.Unlimited, // bounded by its own token budget
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		Path:              func(in Input) string { return in.FilePath },
		Backfill:          func(env *tools.Env, in *Input) { in.FilePath = env.Abs(in.FilePath) },
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.page.text}} },
	})
}

func run(ctx context.Context, env *tools.Env, in Input, o Options) (tools.Result[Output], error) {
	f, info, err := env.Files.Open(in.FilePath)
	if err != nil {
		return tools.Result[Output]{}, openError(env, in.FilePath, err)
	}
	defer f.Close()
	p, err := readText(ctx, f, request{
		path: plain.Line(in.FilePath), size: info.Size(), offset: max(in.Offset, 1), limit: in.Limit,
		budget: o.MaxTokens * bytesPerToken,
	})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	return tools.Result[Output]{
		Data: Output{
			Type: "text", FilePath: in.FilePath, Content: p.content, NumLines: p.lines,
			StartLine: max(in.Offset, 1), TotalLines: p.total, page: p,
		},
		Effect: session.Effect{Reads: []session.Read{{
			Path: f.Name(), Offset: max(in.Offset, 1), Limit: in.Limit, Size: info.Size(), ModTime: info.ModTime(),
		}}},
	}, nil
}

// openError says why a file did not open, and what to do.
func openError(env *tools.Env, path string, err error) error {
	var kind *workspace.KindError
	shown := plain.Line(path)
	switch {
	case errors.As(err, &kind) && kind.Kind == "directory":
		return &tools.Fault{Fact: shown + " is a directory", Next: directoryHint(env, path)}
	case errors.As(err, &kind):
		return &tools.Fault{Fact: fmt.Sprintf("%s is a %s, not a file", shown, kind.Kind), Next: "Only regular files can be read."}
	case errors.Is(err, fs.ErrNotExist):
		return &tools.Fault{Fact: shown + " does not exist", Next: missingHint(env, path)}
	case errors.Is(err, fs.ErrPermission):
		return &tools.Fault{Fact: shown + " may not be read by the user the server runs as", Next: "A person can change its mode, or read it for you."}
	}
	return err
}

// Limits of what hints look at: a folder can hold millions of entries.
const (
	hintEntries = 2000
	hintShown   = 10
)

func directoryHint(env *tools.Env, path string) string {
	entries, err := env.Files.ReadDir(path, hintShown+1)
	if err != nil || len(entries) == 0 {
		return "Name a file in it."
	}
	names := visible(env, path, entries)
	if len(names) == 0 {
		return "Name a file in it."
	}
	more := ""
	if len(names) > hintShown {
		names, more = names[:hintShown], ", ..."
	}
	for i := range names {
		names[i] = plain.Line(names[i])
	}
	return "Name a file in it; it has " + strings.Join(names, ", ") + more + "."
}

func missingHint(env *tools.Env, path string) string {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	entries, err := env.Files.ReadDir(dir, hintEntries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Its folder does not exist either; relative paths start at " + plain.Line(env.Session.Dir) + "."
	case err != nil:
		return "Its folder cannot be listed; check the path."
	}
	near := nearest.Names(base, visible(env, dir, entries), 3)
	near = slices.DeleteFunc(near, func(name string) bool { return name == base }) // a link that leads nowhere
	switch {
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base }):
		return "There is a link of this name that leads nowhere."
	case len(near) == 0 && len(entries) == hintEntries:
		return "None of the first " + strconv.Itoa(hintEntries) + " names in its folder is similar."
	case len(near) == 0:
		return "Nothing in " + plain.Line(dir) + " has a similar name."
	}
	for i := range near {
		near[i] = plain.Line(filepath.Join(dir, near[i]))
	}
	return "Did you mean " + strings.Join(near, ", or ") + "?"
}

// visible are the names the policy lets a model see.
func visible(env *tools.Env, dir string, entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if env.Files.Allowed(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}
