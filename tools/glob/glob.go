// Package glob provides the Glob tool, which finds files by name.
package glob

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/search/walk"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	Pattern string `json:"pattern" minLength:"1" jsonschema:"Glob such as *.go or src/**/*.{ts,tsx}"`
	Path    string `json:"path,omitempty" jsonschema:"Folder to search (default: the working directory)"`
}

// Output holds the files that a call found.
type Output struct {
	Files []string `json:"files" jsonschema:"The files, newest first, at most 100"`
	Total int      `json:"total" jsonschema:"Number of files that match"`
	Left  int      `json:"left,omitempty" jsonschema:"Number of ignored files and folders that were left out"`
	// Incomplete has the same form as in Grep.
	Incomplete string `json:"incomplete,omitempty" jsonschema:"Why not everything was searched"`

	text string
}

// Options holds the settings of the tool.
type Options struct {
	Searcher *search.Searcher // nil: one of its own
	Deadline time.Duration    // timeout of a search; 0: 30 s
}

const (
	most     = 100 // limit of the files shown
	deadline = 30 * time.Second
	// grace is the time that a search has to answer after its timeout.
	grace = 3 * time.Second
	// maxPathBytes is the limit for the paths shown, in bytes. With the notes after them the text
	// stays below the limit of a result.
	maxPathBytes = tools.DefaultResultSize - 10_000
)

// special lists the characters that have a meaning in a pattern.
const special = `*?[{\`

//go:embed prompt.md
var prompt string

// New returns the tool.
func New(o Options) *tools.Tool {
	if o.Searcher == nil {
		o.Searcher = search.New(search.Options{})
	}
	if o.Deadline == 0 {
		o.Deadline = deadline
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:        "Glob",
		Title:       "Find files",
		Prompt:      prompt,
		SearchHint:  "find list files by name pattern wildcard",
		Description: func(in prepared) string { return "Find " + in.Pattern + " in " + in.Path },
		Summary: func(_ prepared, r tools.Result[Output]) string {
			return tools.Partly(tools.Count(r.Data.Total, "file"), r.Data.Incomplete)
		},
		Loading:           tools.LoadAlways,
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		Shared:            tools.When(func(env *tools.Env, in prepared) bool { return file.Shared(env, in.Path) }),
		Path:              func(in prepared) string { return in.Path },
		Prepare:           prepare,
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			r, err := bounded.Do(ctx, o.Deadline+grace, func(ctx context.Context) (tools.Result[Output], error) { return run(ctx, env, in, o) })
			return r, file.NotResponding(err, in.Path)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// prepared is the input of a call with an absolute path and a pattern below it.
type prepared struct {
	Input
	match *matcher
}

func prepare(env *tools.Env, in Input) (p prepared, err error) {
	complete(env, &in)
	if err := file.CheckPath(in.Path); err != nil {
		return p, err
	}
	p.Input = in
	p.match, err = newMatcher(in.Pattern)
	return p, err
}

// complete makes the path absolute. If the pattern begins with a folder that is absolute,
// or that leads to a parent folder or the home folder, that folder becomes the path, so
// that rules judge it. Characters with a meaning in a pattern have none in the path of a
// root, of the path searched, or of a folder that exists.
func complete(env *tools.Env, in *Input) {
	if in.Path == "" {
		in.Path = "."
	}
	file.CompletePath(env, &in.Path)
	in.Pattern = strings.TrimPrefix(strings.TrimPrefix(in.Pattern, "file://localhost"), "file://")
	pattern := filepath.ToSlash(in.Pattern)
	for _, folder := range append([]string{in.Path, env.Session.Dir}, env.Session.Roots...) {
		if rest, ok := strings.CutPrefix(pattern, strings.TrimSuffix(filepath.ToSlash(folder), "/")+"/"); ok && rest != "" && rest != "." && !strings.Contains("/"+rest+"/", "/../") {
			base, rest := literal(rest)
			in.Path, in.Pattern = filepath.Join(folder, filepath.FromSlash(base)), directPattern(rest)
			file.CompletePath(env, &in.Path)
			return
		}
	}
	base, rest := literal(pattern)
	if rest == "." || rest == ".." || slices.Contains(env.Session.Roots, filepath.Clean(in.Pattern)) {
		base, rest = pattern, "" // a folder
	}
	if strings.HasPrefix(base, "~") && (base == "~" || base[1] == '/') || path.IsAbs(base) || filepath.IsAbs(in.Pattern) {
		base, rest = existing(env, base, rest)
		in.Path, in.Pattern = filepath.FromSlash(base), directPattern(rest)
		file.CompletePath(env, &in.Path)
		return
	}
	if base == "" {
		return
	}
	switch base = path.Clean(base); {
	case base == ".":
		in.Pattern = directPattern(rest)
	case base == ".." || strings.HasPrefix(base, "../"):
		base, rest = existing(env, filepath.ToSlash(filepath.Join(in.Path, filepath.FromSlash(base))), rest)
		in.Path, in.Pattern = filepath.FromSlash(base), directPattern(rest)
	default:
		in.Pattern = base + "/" + rest
	}
}

// existing moves names with special characters from the pattern rest to the folder base, as
// long as there are such folders.
func existing(env *tools.Env, base, rest string) (string, string) {
	for {
		name, after, ok := strings.Cut(rest, "/")
		next := strings.TrimSuffix(base, "/") + "/" + name
		if !ok || name == "" || !file.IsFolder(env, env.Abs(filepath.FromSlash(next))) {
			return base, rest
		}
		base, rest = next, after
	}
}

// directPattern returns a pattern that matches only directly in the folder searched. Without "./" a
// pattern without a slash would match at any depth.
func directPattern(pattern string) string {
	if pattern == "" || strings.Contains(pattern, "/") {
		return pattern
	}
	return top + pattern
}

// literal splits a pattern at the last slash before the first special character.
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

func run(ctx context.Context, env *tools.Env, in prepared, o Options) (tools.Result[Output], error) {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	dir, err := env.Files.Folder(in.Path)
	if err != nil {
		return tools.Result[Output]{}, folderError(env, in.Path, err)
	}
	r := &listing{in: in, env: env}
	r.secrets = file.NewSecrets(env, dir.Path)
	r.found, err = o.Searcher.Tree(dir.Path, dir.Opener()).Names(ctx, &search.Query{
		Pick: r.seeing(in.match.match, dir), Anew: r.secrets.Anew, Show: dir.Allowed,
	})
	if err == nil && len(r.found.Files) == 0 {
		err = r.explicit(ctx, o.Searcher)
	}
	if err == nil && len(r.found.Files) == 0 && in.match.invalid != nil {
		err = in.match.invalid
	}
	if err == nil && len(r.found.Files) == 0 && r.found.Ignored == "" {
		err = r.otherCase(ctx, o.Searcher, dir)
	}
	if err != nil {
		return tools.Result[Output]{}, folderError(env, in.Path, err)
	}
	return tools.Result[Output]{Data: r.output()}, nil
}

// listing holds the state of one call.
type listing struct {
	in    prepared
	env   *tools.Env
	found *search.Found
	any   bool // whether any file that may be shown was seen
	// secrets counts the files that are left out.
	secrets *file.Secrets
	hints   []string
}

// seeing wraps pick. It also records whether there is a file that may be shown. The answer
// gives no number of files, which would reveal files that may not be shown.
func (r *listing) seeing(pick func(dir, name string) bool, dir *workspace.Folder) func(dir, name string) bool {
	return func(at, name string) bool {
		r.any = r.any || dir.Allowed(path.Join(at, name))
		return pick(at, name) && !r.secrets.Holds(at, name)
	}
}

// explicit searches a folder that is ignored, if the pattern begins with its path.
func (r *listing) explicit(ctx context.Context, s *search.Searcher) error {
	if !strings.ContainsAny(r.in.Pattern, special) {
		return r.named(s)
	}
	r.hints = hints(strings.TrimPrefix(r.in.Pattern, top))
	base, _ := literal(strings.TrimPrefix(r.in.Pattern, top))
	if base == "" {
		return nil
	}
	full := filepath.Join(r.in.Path, filepath.FromSlash(base))
	dir, err := r.env.Files.Folder(full)
	if err != nil {
		return file.LeadsOut(full, err)
	}
	found, err := s.Tree(dir.Path, dir.Opener()).Names(ctx, &search.Query{
		Pick: func(at, name string) bool { return r.in.match.match(path.Join(base, at), name) }, Show: dir.Allowed,
	})
	if err != nil {
		return err
	}
	if len(found.Files) == 0 && found.Ignored == "" {
		return nil // the answer for the folder searched stays
	}
	for i, f := range found.Files {
		found.Files[i] = base + "/" + f
	}
	r.found = found
	return nil
}

// otherCase adds a hint if the pattern matches a file without regard to upper and lower case.
func (r *listing) otherCase(ctx context.Context, s *search.Searcher, dir *workspace.Folder) error {
	match, err := newMatcher(strings.ToLower(r.in.Pattern))
	if err != nil {
		return nil
	}
	found, err := s.Tree(dir.Path, dir.Opener()).Names(ctx, &search.Query{Show: dir.Allowed, Pick: func(at, name string) bool {
		return match.match(strings.ToLower(at), strings.ToLower(name)) && !r.secrets.Has(at, name)
	}})
	if err == nil && len(found.Files) > 0 {
		prefix := workspace.Shown(r.env.Session.Dir, r.in.Path)
		r.hints = append(r.hints, "upper and lower case differ: there is "+plain.Line(workspace.ShownPath(prefix, found.Files[0])))
	}
	return err
}

// named looks for the one path that a pattern without special characters names.
func (r *listing) named(s *search.Searcher) error {
	full := filepath.Join(r.in.Path, filepath.FromSlash(r.in.Pattern))
	f, _, err := r.env.Files.Open(full)
	var kind *workspace.KindError
	switch {
	case errors.As(err, &kind) && kind.Kind == "directory":
		name := strings.TrimPrefix(r.in.Pattern, top)
		if r.in.Path != r.env.Session.Dir {
			name = filepath.ToSlash(full)
		}
		r.hints = []string{fmt.Sprintf("%s is a folder; use %s/** for its files", plain.Line(name), plain.Line(name))}
		return nil
	case err != nil:
		r.hints = hints(r.in.Pattern)
		return file.LeadsOut(full, err)
	}
	f.Close()
	r.found.Files = []string{strings.TrimPrefix(r.in.Pattern, top)}
	if dir, err := r.env.Files.Folder(filepath.Dir(full)); err == nil {
		r.found.Ignored = s.IgnoredBy(filepath.Join(dir.Path, filepath.Base(full)))
	}
	return nil
}

func timeoutFault() error {
	return &tools.Fault{
		Fact: fmt.Sprintf("the search took longer than %d seconds", int(deadline.Seconds())),
		Next: "Search a folder below with path, or use a simpler pattern.",
	}
}

func folderError(env *tools.Env, name string, err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, bounded.ErrTooMany):
		return err
	case errors.Is(err, walk.ErrSilent):
		return bounded.ErrTime
	case errors.Is(err, context.DeadlineExceeded):
		return timeoutFault()
	case errors.Is(err, fs.ErrNotExist):
		if folder, pattern, ok := file.Pattern(env, name); ok {
			return fault.New(plain.Line(name)+" does not exist", fmt.Sprintf("path is a folder; put %s into path and %s into pattern.", plain.Line(folder), plain.Line(pattern)))
		}
		return file.Missing(env, name)
	case isNoFolder(err):
		return &tools.Fault{Fact: plain.Line(name) + " is not a folder", Next: "Give the folder that it is in as path."}
	}
	return file.OpenError(env, name, err)
}

// output formats the files found and the notes.
func (r *listing) output() Output {
	found, where := r.found, plain.Line(r.env.Name(r.in.Path))
	out := Output{Files: []string{}, Total: len(found.Files), Left: found.IgnoredCount}
	prefix := workspace.Shown(r.env.Session.Dir, r.env.Name(r.in.Path))
	var b strings.Builder
	for _, f := range found.Files[:min(most, len(found.Files))] {
		name := plain.Text(workspace.ShownPath(prefix, f))
		if b.Len()+len(name) > maxPathBytes {
			break
		}
		out.Files = append(out.Files, name)
		b.WriteString(name + "\n")
	}
	switch {
	case out.Total == 0 && !r.any && found.IgnoredCount == 0:
		fmt.Fprintf(&b, "[there are no files in %s]\n", where)
	case out.Total == 0:
		fmt.Fprintf(&b, "[no file in %s matches %s]\n", where, plain.Line(r.in.Pattern))
	case out.Total > len(out.Files):
		fmt.Fprintf(&b, "[the newest %d of %d files; narrow the pattern, or search a folder below with path]\n", len(out.Files), out.Total)
	}
	for _, h := range r.hints {
		if out.Total == 0 {
			b.WriteString("[" + h + "]\n")
		}
	}
	b.WriteString(ignoredNotes(found))
	for i, note := range file.Silent(found.Silent, prefix) {
		if i == 0 {
			out.Incomplete = note
		}
		b.WriteString("[" + note + "]\n")
	}
	if note := r.secrets.Note(); note != "" {
		b.WriteString("[" + note + "]\n")
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return out
}

// ignoredNotes returns notes on files that were not searched, or that were searched only because
// they were named.
func ignoredNotes(found *search.Found) (text string) {
	if found.Ignored != "" {
		text = fmt.Sprintf("[%s is left out by a .gitignore or .ignore file; it was looked at because it was named]\n", plain.Line(found.Ignored))
	} else if found.IgnoredCount > 0 {
		text = fmt.Sprintf("[files and folders left out by .gitignore or .ignore files: %d; a pattern or path that begins with theirs finds them]\n", found.IgnoredCount)
	}
	if found.Unreadable > 0 {
		text += fmt.Sprintf("[folders that could not be read: %d]\n", found.Unreadable)
	}
	return text
}
