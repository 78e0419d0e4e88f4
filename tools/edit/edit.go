// Package edit provides the Edit tool, which replaces a text in a file.
package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	FilePath   string `json:"file_path" minLength:"1" jsonschema:"The file: absolute, starting with ~, or relative to the working directory"`
	OldString  string `json:"old_string" jsonschema:"The text to replace; empty creates a file or fills an empty one"`
	NewString  string `json:"new_string" jsonschema:"The replacement"`
	ReplaceAll bool   `json:"replace_all,omitempty" default:"false" jsonschema:"Replace every occurrence of old_string"`
}

// Output describes the change that a call made.
type Output struct {
	Type     string `json:"type" enum:"create,update" jsonschema:"Whether the file was created or changed"`
	FilePath string `json:"filePath" jsonschema:"The file, absolute"`
	Places   int    `json:"places" jsonschema:"Number of places changed"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool.
func New(o file.Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:          "Edit",
		Title:         "Edit file",
		Prompt:        prompt,
		SearchHint:    "replace change modify text in a file",
		Description:   func(in Input) string { return "Edit " + in.FilePath },
		Loading:       tools.LoadAlways,
		View:          tools.ViewDiff,
		Summary:       func(in Input, r tools.Result[Output]) string { return r.Did.Summary(in.FilePath) },
		IsDestructive: tools.Always[Input](),
		Path:          func(in Input) string { return in.FilePath },
		Prepare:       prepare,
		Preview:       preview,
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return file.Shown(o.text) },
	})
}

func prepare(env *tools.Env, in Input) (Input, error) {
	file.CompleteTarget(env, &in.FilePath, in.OldString == "")
	if err := file.CheckTarget(in.FilePath); err != nil {
		return in, err
	}
	return in, nil
}

// preview applies the edit to the present content of the file.
func preview(ctx context.Context, env *tools.Env, in Input) tools.Preview {
	shown, old := plain.Text(in.FilePath), file.Look(ctx, env, in.FilePath)
	if !old.Exists && in.OldString == "" {
		return file.PreviewText(shown+", a new file", in.NewString)
	}
	heading := shown + ", the text to replace and the new one; the file cannot be compared"
	if old.Text != nil {
		after, _, _, err := in.fit(old.Text)
		if err == nil {
			return file.PreviewChange(in.FilePath, old.Text, after)
		}
		heading = shown + ", the text to replace and the new one; the edit does not fit the file"
	}
	var notes []string
	if in.ReplaceAll {
		notes = []string{"every occurrence is replaced"}
	}
	return file.PreviewReplacement(heading, in.OldString, in.NewString, notes...)
}

func run(ctx context.Context, env *tools.Env, in Input, o file.Options) (tools.Result[Output], error) {
	var d done
	c, err := o.Change(ctx, env, in.FilePath, func(old file.Old) (data []byte, err error) {
		if d, err = apply(env, in, old, o.Guard); err != nil {
			return nil, failure(env, in, old, err)
		}
		return d.after.Bytes(), nil
	})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	out := Output{Type: "update", FilePath: in.FilePath, Places: len(d.places)}
	said := "Edited " + plain.Line(in.FilePath)
	if !c.Old.Exists {
		out.Type, said = "create", "Created "+plain.Line(in.FilePath)
	}
	if len(d.places) > 1 {
		said += fmt.Sprintf(" in %d places", len(d.places))
	}
	hunks := file.Diff(d.before.String(), d.after.String())
	notes := append(file.Form(d.before, d.after), c.Notes()...)
	if d.note != "" {
		notes = append(notes, d.note)
	}
	if isNotebook(in.FilePath) {
		notes = append(notes, repaired(c.Data))
	}
	switch {
	case !c.Old.Exists || c.Old.Size == 0:
		out.text = file.Answer(said+": "+file.Measure(in.NewString)+".", nil, notes)
	case c.Old.Known != file.Stale && d.note == "" && d.plain(in):
		out.text = file.Brief(said, d.before.String(), d.after.String(), notes)
	default:
		out.text = file.Answer(said+".", hunks, notes)
	}
	r := tools.Result[Output]{Data: out, Effect: c.Partly(d.snapshot), Meta: file.Meta(hunks), Did: c.Did(hunks)}
	r.HookFields = func() tools.HookFields {
		f := file.HookChange(c, hunks)
		f["replaceAll"] = in.ReplaceAll
		f.Text("oldString", in.OldString)
		f.Text("newString", in.NewString)
		return f
	}
	return r, nil
}

func isNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), ".ipynb") }

// parses reports whether a notebook can be parsed, so that NotebookEdit can change it. One that
// cannot is edited as text.
func parses(data []byte) bool {
	_, err := notebook.Parse(data)
	return data != nil && err == nil
}

// repaired returns a note on whether a notebook that could not be parsed now can be.
func repaired(data []byte) string {
	_, err := notebook.Parse(data)
	var f *fault.Fault
	if errors.As(err, &f) {
		return "as a notebook it still " + plain.Line(f.Fact)
	}
	return "it can be parsed as a notebook now"
}

// done describes an edit that was made.
type done struct {
	before, after *textfile.Text
	places        []textfile.Place
	note          string // on the Unicode form of the text; "": there is nothing to say
	snapshot      []byte // snapshot of a stale file with the same edit applied
}

// plain reports whether the edit did what its text says, so that the model knows the outcome.
func (d done) plain(in Input) bool {
	return len(d.places) == 1 && len(file.Form(d.before, d.after)) == 0 && (in.NewString == "" || strings.Replace(d.before.String(), unified(in.OldString), unified(in.NewString), 1) == d.after.String())
}

// unified returns a text with the line endings with which models see it.
func unified(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// apply applies the edit to the old content.
func apply(env *tools.Env, in Input, old file.Old, guard file.Guard) (d done, err error) {
	switch {
	case !old.Exists && in.OldString != "" && !isNotebook(in.FilePath):
		missing := file.Missing(env, in.FilePath)
		return d, fault.New(missing.Fact, missing.Next+" Use Write to create a new file.")
	case isNotebook(in.FilePath) && (!old.Exists || parses(old.Data)):
		return d, fault.New(plain.Line(in.FilePath)+" is a notebook", "Use NotebookEdit, which changes one cell and keeps the rest; Write makes a new one.")
	case old.Exists && old.Data == nil:
		return d, fault.New(fmt.Sprintf("%s has %d bytes, and files over %d are not edited", plain.Line(in.FilePath), old.Size, file.MaxEdit),
			"Change it with a program such as sed or perl.")
	case guard == file.GuardStrict && old.Exists && old.Known == file.Unread:
		return d, file.NotRead(in.FilePath)
	}
	if d.before, err = old.Text(); err != nil {
		return d, file.About(in.FilePath, err)
	}
	if d.after, d.places, d.note, err = in.fit(d.before); err != nil {
		return d, notFound(in, old, guard, err)
	}
	d.snapshot = alike(in, old)
	if err := allowed(in, old, d.places, d.snapshot, guard); err != nil {
		return d, err
	}
	if old.Snapshot != nil {
		if s := old.CatchUp(d.before, d.after); s != nil {
			d.snapshot = s
		}
	}
	return d, nil
}

func (in Input) edit() textfile.Edit {
	return textfile.Edit{Old: in.OldString, New: in.NewString, All: in.ReplaceAll}
}

// allowed returns an error unless the edit guard permits the edit. seen is the snapshot of
// a stale file with the same edit applied.
func allowed(in Input, old file.Old, places []textfile.Place, seen []byte, guard file.Guard) error {
	switch {
	case !old.Exists || len(old.Data) == 0 || guard == file.GuardOff || old.Known == file.Current:
		return nil
	case old.Known == file.Unread && len(places) > 1:
		return file.NotRead(in.FilePath)
	case old.Known == file.Unread:
		return nil
	case guard != file.GuardStrict && !slices.ContainsFunc(places, func(p textfile.Place) bool { return !old.Shown(p.Old.First, p.Old.Last) }):
		return nil // all places were shown after the change
	}
	// The file has changed since it was read. The place must be unique, both now and in the
	// snapshot, and must not be among the changes.
	since, _, ok := file.SinceRead(old)
	if guard == file.GuardStrict || !ok || seen == nil || len(places) != 1 || file.Touches(since, places[0].Old.First, places[0].Old.Last) {
		return file.StaleFault(in.FilePath, old)
	}
	return nil
}

// alike applies the edit to the snapshot of a stale file, where the place must be unique.
// It returns nil if there is no snapshot or the edit does not fit it.
func alike(in Input, old file.Old) []byte {
	if old.Known != file.Stale || old.Snapshot == nil {
		return nil
	}
	t, err := old.Before()
	if err != nil {
		return nil
	}
	in.ReplaceAll = false
	if t, _, _, err = in.fit(t); err != nil {
		return nil
	}
	return t.Bytes()
}
