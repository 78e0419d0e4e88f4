// Package glob is the Glob tool: files by name.
package glob

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input is what a call is given.
type Input struct {
	Pattern string `json:"pattern" minLength:"1" jsonschema:"The glob to match files with, such as *.go or src/**/*.{ts,tsx}"`
	Path    string `json:"path,omitempty" jsonschema:"The folder to search; the working directory when left out"`
}

// Output is what a call found.
type Output struct {
	Files []string `json:"files" jsonschema:"The files, the newest first, at most 100"`
	Total int      `json:"total" jsonschema:"How many files match in all"`
	Left  int      `json:"left,omitempty" jsonschema:"How many files and folders were left out because they are ignored"`

	text string
}

// Options are what a server can set.
type Options struct {
	Searcher *search.Searcher // nil: one of its own
}

const (
	most     = 100 // files shown
	deadline = 30 * time.Second
)

// special are the characters that mean something in a pattern.
const special = `*?[{\`

//go:embed prompt.md
var prompt string

// New makes the tool.
func New(o Options) *tools.Tool {
	if o.Searcher == nil {
		o.Searcher = search.New(search.Options{})
	}
	return tools.MustBuild(tools.Def[Input, Output]{
		Name:              "Glob",
		Title:             "Find files",
		Prompt:            prompt,
		SearchHint:        "find list files by name pattern wildcard",
		Description:       func(in Input) string { return "Find " + in.Pattern + " in " + in.Path },
		Loading:           tools.LoadAlways,
		IsReadOnly:        tools.Always[Input](),
		IsConcurrencySafe: tools.Always[Input](),
		IsIdempotent:      tools.Always[Input](),
		Path:              func(in Input) string { return in.Path },
		Backfill:          complete,
		Validate:          validate,
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// complete makes path absolute. The folder that an absolute pattern begins
// with, or one that leads upwards or home, becomes the path: rules judge it.
func complete(env *tools.Env, in *Input) {
	if in.Path == "" {
		in.Path = "."
	}
	file.CompletePath(env, &in.Path)
	pattern := filepath.ToSlash(in.Pattern)
	up := strings.HasPrefix(pattern, "../")
	if up || path.IsAbs(pattern) || filepath.IsAbs(in.Pattern) || strings.HasPrefix(pattern, "~/") {
		base, rest := literal(pattern)
		if up {
			base = filepath.Join(in.Path, filepath.FromSlash(base))
		}
		in.Path, in.Pattern = filepath.FromSlash(base), rest
		file.CompletePath(env, &in.Path)
	}
	in.Pattern = strings.TrimPrefix(in.Pattern, "./")
}

// literal divides a pattern at the last slash before anything special.
func literal(pattern string) (base, rest string) {
	end := strings.IndexAny(pattern, special)
	if end < 0 {
		end = len(pattern)
	}
	at := strings.LastIndexByte(pattern[:end], '/')
	if at < 0 {
		return "", pattern
	}
	return pattern[:max(at, 1)], pattern[at+1:]
}

func validate(in Input) error {
	if err := file.CheckPath(in.Path); err != nil {
		return err
	}
	_, err := newMatcher(in.Pattern)
	return err
}

func run(ctx context.Context, env *tools.Env, in Input, o Options) (tools.Result[Output], error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	m, err := newMatcher(in.Pattern)
	if err != nil {
		return tools.Result[Output]{}, err
	}
	dir, err := env.Files.Folder(in.Path)
	if err != nil {
		return tools.Result[Output]{}, folderError(env, in.Path, err)
	}
	found, err := o.Searcher.Tree(dir.Path, dir.Opener()).Names(ctx, m.match, dir.Allowed)
	if err == nil && len(found.Files) == 0 {
		found, err = explicit(ctx, env, in, o, found)
	}
	if err != nil {
		return tools.Result[Output]{}, folderError(env, in.Path, err)
	}
	return tools.Result[Output]{Data: output(env, in, found)}, nil
}

// explicit looks into what is ignored, if the pattern begins with its path.
func explicit(ctx context.Context, env *tools.Env, in Input, o Options, none *search.Found) (*search.Found, error) {
	if !strings.ContainsAny(in.Pattern, special) {
		if f, _, err := env.Files.Open(filepath.Join(in.Path, filepath.FromSlash(in.Pattern))); err == nil {
			none.Files = []string{in.Pattern}
			return none, f.Close()
		}
		return none, nil
	}
	base, rest := literal(in.Pattern)
	if base == "" {
		return none, nil
	}
	dir, err := env.Files.Folder(filepath.Join(in.Path, filepath.FromSlash(base)))
	if err != nil {
		return none, nil // there is nothing there, or nothing to be seen
	}
	m, err := newMatcher(rest)
	if err != nil {
		return nil, err
	}
	m.here = !strings.Contains(rest, "/") // it is the end of a pattern with a slash
	found, err := o.Searcher.Tree(dir.Path, dir.Opener()).Names(ctx, m.match, dir.Allowed)
	if err != nil {
		return nil, err
	}
	for i, f := range found.Files {
		found.Files[i] = base + "/" + f
	}
	return found, nil
}

func tooLong() error {
	return &tools.Fault{
		Fact: fmt.Sprintf("the search took longer than %d seconds", int(deadline.Seconds())),
		Next: "Search a folder below with path, or use a simpler pattern.",
	}
}

func folderError(env *tools.Env, name string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return tooLong()
	case errors.Is(err, fs.ErrNotExist):
		return file.Missing(env, name)
	case isNoFolder(err):
		return &tools.Fault{Fact: plain.Line(name) + " is not a folder", Next: "Give the folder that it is in as path."}
	}
	return file.OpenError(env, name, err)
}

// output words what was found.
func output(env *tools.Env, in Input, found *search.Found) Output {
	out := Output{Files: []string{}, Total: len(found.Files), Left: found.Left}
	prefix := workspace.Shown(env.Session.Dir, in.Path)
	var b strings.Builder
	for _, f := range found.Files[:min(most, len(found.Files))] {
		name := plain.Text(prefix + f)
		out.Files = append(out.Files, name)
		b.WriteString(name + "\n")
	}
	switch {
	case out.Total == 0 && found.Listed == 0 && found.Left == 0:
		fmt.Fprintf(&b, "[there are no files in %s]\n", plain.Line(in.Path))
	case out.Total == 0:
		fmt.Fprintf(&b, "[none of the %d files in %s matches %s]\n", found.Listed, plain.Line(in.Path), plain.Line(in.Pattern))
	case out.Total > most:
		fmt.Fprintf(&b, "[the newest %d of %d files; narrow the pattern, or search a folder below with path]\n", most, out.Total)
	}
	if found.Ignored != "" {
		fmt.Fprintf(&b, "[%s is left out by a .gitignore or .ignore file; it was searched because it was named]\n", plain.Line(found.Ignored))
	} else if found.Left > 0 {
		fmt.Fprintf(&b, "[files and folders left out by .gitignore or .ignore files: %d; a pattern or path that begins with theirs finds them]\n", found.Left)
	}
	if found.Unreadable > 0 {
		fmt.Fprintf(&b, "[folders that could not be read: %d]\n", found.Unreadable)
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return out
}
