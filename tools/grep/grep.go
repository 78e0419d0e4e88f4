// Package grep provides the Grep tool, which searches files for lines that match a regular
// expression.
package grep

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/search/match"
	"mcp-toolset/internal/search/pattern"
	"mcp-toolset/internal/search/walk"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	Pattern     string `json:"pattern" jsonschema:"Regular expression in ripgrep's syntax"`
	Path        string `json:"path,omitempty" jsonschema:"File or folder to search (default: the working directory)"`
	Glob        string `json:"glob,omitempty" jsonschema:"Files to search, such as *.go, src/** or *.{ts,tsx}; !vendor/ excludes; separate several with blanks"`
	Type        string `json:"type,omitempty" jsonschema:"File type, as ripgrep names it: go, py, ts, ..."`
	OutputMode  string `json:"output_mode" enum:"content,files_with_matches,count" default:"\"files_with_matches\"" jsonschema:"What to show; default files_with_matches"`
	Before      *int   `json:"-B,omitempty" minimum:"0" jsonschema:"Lines to show before each match"`
	After       *int   `json:"-A,omitempty" minimum:"0" jsonschema:"Lines to show after each match"`
	Around      int    `json:"-C,omitempty" minimum:"0" jsonschema:"Lines to show before and after each match"`
	Context     int    `json:"context,omitempty" minimum:"0" jsonschema:"The same as -C"`
	LineNumbers bool   `json:"-n" default:"true" jsonschema:"Show line numbers; default true"`
	IgnoreCase  bool   `json:"-i,omitempty" default:"false" jsonschema:"Ignore case"`
	OnlyMatches bool   `json:"-o,omitempty" default:"false" jsonschema:"Show only the matching text, without context"`
	HeadLimit   int    `json:"head_limit" minimum:"0" default:"250" jsonschema:"Maximum lines or files; 0: all; default 250"`
	Offset      int    `json:"offset,omitempty" minimum:"0" default:"0" jsonschema:"Lines or files to skip"`
	Multiline   bool   `json:"multiline,omitempty" default:"false" jsonschema:"Let matches span lines, and . match a newline; with CRLF a line ends in \\r?\\n; count then counts the lines that matches touch"`
}

// Output holds the matches that a call found.
type Output struct {
	Mode       string   `json:"mode" jsonschema:"The output_mode"`
	Files      []string `json:"files" jsonschema:"The files that match; none with content"`
	Counts     []int    `json:"counts,omitempty" jsonschema:"count: number of matching lines in each"`
	Content    string   `json:"content,omitempty" jsonschema:"content: the lines, as path:line:text"`
	Total      int      `json:"total" jsonschema:"Number of entries on all pages"`
	More       bool     `json:"more,omitempty" jsonschema:"Counting stopped, and there may be more than total"`
	Incomplete string   `json:"incomplete,omitempty" jsonschema:"Why not everything was searched"`

	text string
}

// Options holds the settings of the tool.
type Options struct {
	Searcher *search.Searcher // nil: one of its own
	Deadline time.Duration    // timeout of a search; 0: 30 s
}

const (
	// mostContext is the limit of lines shown before or after a match. Read shows more.
	mostContext = 1000
	deadline    = 30 * time.Second
	// grace is the time that a search has to answer after its timeout.
	grace = 3 * time.Second
	// longest is the limit of an answer in characters, about 10,000 tokens. A page ends
	// there; if all entries are requested, the result is stored.
	longest = 40_000
)

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
		Name:              "Grep",
		Title:             "Search file contents",
		Prompt:            prompt,
		SearchHint:        "search find text regex in files contents ripgrep",
		Description:       func(in prepared) string { return "Search for " + in.Pattern + " in " + in.Path },
		Summary:           func(in prepared, r tools.Result[Output]) string { return r.Data.summary(in.Input) },
		Loading:           tools.LoadAlways,
		MaxResultSize:     longest,
		Excerpt:           tools.ExcerptEnds, // applies if all entries are requested; the notes are at the end
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

// prepared is the input of a call with an absolute path.
type prepared struct {
	Input
	match  *match.Matcher
	choose *choice
	prefix string // prefix of shown paths below the folder searched
}

func prepare(env *tools.Env, in Input) (p prepared, err error) {
	if in.Path == "" {
		in.Path = "."
	}
	file.CompletePath(env, &in.Path)
	p.Input, p.prefix = in, workspace.Shown(env.Session.Dir, env.Name(in.Path))
	if err = file.CheckPath(in.Path); err != nil {
		return p, err
	}
	if p.match, err = in.compile(); err != nil {
		return p, err
	}
	p.choose, err = newChoice(in, p.prefix, env.Session.Dir, func(name string) bool {
		return slices.ContainsFunc([]string{env.Session.Dir, in.Path}, func(folder string) bool {
			return file.Exists(env, filepath.Join(folder, filepath.FromSlash(name)))
		})
	})
	return p, err
}

func (in Input) compile() (*match.Matcher, error) {
	m, err := match.Compile(in.Pattern, match.Options{Fold: in.IgnoreCase, Multiline: in.Multiline})
	var wrong *pattern.Error
	if errors.As(err, &wrong) {
		return nil, &wrong.Fault
	}
	return m, err
}

func run(ctx context.Context, env *tools.Env, in prepared, o Options) (tools.Result[Output], error) {
	q := in.query(in.match)
	q.Deadline = time.Now().Add(o.Deadline)
	r := &searching{in: in, env: env, q: q}
	q.Decode = r.decode
	if q.Mode == search.Lines && q.Limit == 0 {
		r.long = env.Results.Long()
		q.Out = ungapped{r.long}
	}
	dir, err := env.Files.Folder(in.Path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		err = r.file(ctx, o.Searcher)
	case errors.Is(err, fs.ErrNotExist):
		err = missing(env, in.Path)
	case err != nil:
		err = file.OpenError(env, in.Path, err)
	default:
		err = r.folder(ctx, dir, o.Searcher)
		if one := in.choose.whole(in.Glob); err == nil && r.c.chosen == 0 && one != nil {
			err = r.again(ctx, dir, o.Searcher, one)
		}
		if err == nil && r.c.chosen == 0 {
			err = in.choose.wrong
		}
		if err == nil && r.c.chosen == 0 {
			r.folded, err = r.otherCase(ctx, dir, o.Searcher)
		}
	}
	if err != nil {
		if r.long != nil {
			r.long.Discard()
		}
		return tools.Result[Output]{}, err
	}
	return tools.Result[Output]{Data: r.output()}, nil
}

// query returns the query for the search.
func (in Input) query(m *match.Matcher) *search.Query {
	q := &search.Query{Match: m, Offset: in.Offset, Limit: in.HeadLimit}
	switch in.OutputMode {
	case "content":
		q.Mode = search.Lines
	case "count":
		q.Mode = search.Counts
	}
	if q.Mode == search.Lines && !in.OnlyMatches {
		around := max(in.Around, in.Context)
		q.Before, q.After = lines(in.Before, around), lines(in.After, around)
	}
	q.Parts = in.OnlyMatches
	return q
}

// lines returns the number of lines to show on one side of a match: side if it is set,
// otherwise around, up to mostContext.
func lines(side *int, around int) int {
	if side != nil {
		around = *side
	}
	return min(around, mostContext)
}

// searching holds the state of one call.
type searching struct {
	in     prepared
	env    *tools.Env
	q      *search.Query
	answer *search.Answer
	c      *chooser   // chooses the files of a folder; nil if path is a file
	long   tools.Long // gets all lines if all are requested; nil: a page of them is in memory
	named  bool       // path is a file
	top    string     // the folder that is searched, "" if path is a file
	folded string     // a file that the globs or the type choose without regard to case, if they choose none
}

// decode returns the text of a file in an older encoding.
func (r *searching) decode(path string, data []byte) ([]byte, bool) {
	if r.top != "" {
		path = filepath.Join(r.top, filepath.FromSlash(path))
	} else {
		path = r.in.Path
	}
	t, err := textfile.DecodeFile(data, file.Hint(r.env.Files, path, data))
	var several *textfile.Unknown
	if errors.As(err, &several) && several.Text != nil {
		return several.Text, true
	}
	if err != nil || !t.Encoding().Legacy() {
		return nil, false
	}
	return []byte(t.Raw()), true
}

func (r *searching) folder(ctx context.Context, dir *workspace.Folder, s *search.Searcher) (err error) {
	r.top = dir.Path
	r.c = r.in.choose.chooser()
	r.c.show, r.c.secrets = dir.Allowed, file.NewSecrets(r.env, dir.Path)
	r.q.Pick, r.q.Anew, r.q.Rest, r.q.Show = r.c.pick, r.c.anew, r.c.rest, dir.Allowed
	f := formatter{prefix: r.in.prefix, paths: true, numbers: r.in.LineNumbers}
	r.q.Line, r.q.Wide, r.q.Binary = f.line, widest, f.binary
	r.q.Listed = func(files int) {
		r.env.Progress(tools.Progress{Activity: "Searching for " + r.in.Pattern + " in " + tools.Count(files, "file")})
	}
	r.answer, err = s.Tree(dir.Path, dir.Opener()).Search(ctx, r.q)
	return openError(r.env, r.in.Path, err)
}

// again searches with other globs. If they choose no file either, the answer stays.
func (r *searching) again(ctx context.Context, dir *workspace.Folder, s *search.Searcher, globs *choice) error {
	other := *r
	other.in.choose = globs
	err := other.folder(ctx, dir, s)
	if err == nil && other.c.chosen > 0 {
		*r = other
	}
	return err
}

// file searches the single file that the path names.
func (r *searching) file(ctx context.Context, s *search.Searcher) error {
	f, info, err := r.env.Files.Open(r.in.Path)
	if err != nil {
		return file.OpenError(r.env, r.in.Path, err)
	}
	defer f.Close()
	r.named = true
	form := formatter{numbers: r.in.LineNumbers}
	r.q.Line, r.q.Wide, r.q.Binary = form.line, widest, form.binary
	r.answer, err = s.File(ctx, r.q, f, info.Size(), workspace.Shown(r.env.Session.Dir, r.in.Path))
	var system *fs.PathError
	if errors.As(err, &system) {
		return file.ReadError(plain.Line(r.in.Path), err)
	}
	if dir, failed := r.env.Files.Folder(filepath.Dir(r.in.Path)); err == nil && failed == nil {
		r.answer.Ignored = s.IgnoredBy(filepath.Join(dir.Path, filepath.Base(r.in.Path)))
	}
	return err
}

// otherCase returns a file that may be shown and that the globs and the type choose without
// regard to upper and lower case, or "".
func (r *searching) otherCase(ctx context.Context, dir *workspace.Folder, s *search.Searcher) (string, error) {
	if r.in.Glob == "" && r.in.Type == "" {
		return "", nil
	}
	c := r.in.choose.lower()
	if c == nil {
		return "", nil
	}
	folding := c.chooser()
	found, err := s.Tree(dir.Path, dir.Opener()).Names(ctx, &search.Query{Show: dir.Allowed, Pick: func(at, name string) bool {
		return folding.chooses(strings.ToLower(at), strings.ToLower(name)) && !r.c.secrets.Has(at, name)
	}})
	if err != nil {
		return "", openError(r.env, r.in.Path, err)
	}
	if len(found.Files) == 0 {
		return "", nil
	}
	return found.Files[0], nil
}

// missing returns the error for a path that does not exist.
func missing(env *tools.Env, path string) error {
	folder, glob, ok := file.Pattern(env, path)
	if !ok {
		return file.Missing(env, path)
	}
	next := "put " + plain.Line(glob) + " into glob"
	if folder != env.Session.Dir {
		next += " and " + plain.Line(folder) + " into path"
	}
	return fault.New(plain.Line(path)+" does not exist", "path is a file or folder; "+next+".")
}

// openError returns the error for a folder that could not be searched. It returns nil if
// err is nil.
func openError(env *tools.Env, path string, err error) error {
	var f *fault.Fault
	switch {
	case err == nil || errors.As(err, &f) || errors.Is(err, context.Canceled) || errors.Is(err, bounded.ErrTooMany):
		return err
	case errors.Is(err, walk.ErrSilent):
		return bounded.ErrTime
	case errors.Is(err, fs.ErrNotExist):
		return missing(env, path)
	}
	return file.OpenError(env, path, err)
}
