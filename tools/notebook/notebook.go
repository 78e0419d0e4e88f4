// Package notebook provides the NotebookEdit tool, which replaces, inserts or deletes one
// cell of a Jupyter notebook.
package notebook

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/file/notebook"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Input holds the arguments of a call.
type Input struct {
	NotebookPath string `json:"notebook_path" minLength:"1" jsonschema:"The notebook: absolute, starting with ~, or relative to the working directory"`
	NewSource    string `json:"new_source" jsonschema:"Source of the cell; ignored with delete"`
	CellID       string `json:"cell_id,omitempty" jsonschema:"The cell, as Read shows it; with insert the one before the new one"`
	CellType     string `json:"cell_type,omitempty" enum:"code,markdown" jsonschema:"Type of the cell; required with insert"`
	EditMode     string `json:"edit_mode,omitempty" enum:"replace,insert,delete" default:"\"replace\"" jsonschema:"What to do with the cell; default replace"`
}

// Output describes the change that a call made.
type Output struct {
	FilePath string `json:"filePath" jsonschema:"The notebook, absolute"`
	CellID   string `json:"cellId" jsonschema:"The cell that was replaced, inserted or deleted"`
	EditMode string `json:"editMode" enum:"replace,insert,delete" jsonschema:"What was done"`
	Cells    int    `json:"cells" jsonschema:"Number of cells after the change"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool.
func New(o file.Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:          "NotebookEdit",
		Title:         "Edit notebook",
		Prompt:        prompt,
		SearchHint:    "change insert delete a Jupyter notebook cell",
		Description:   func(in Input) string { return "Edit " + in.NotebookPath },
		View:          tools.ViewDiff,
		Summary:       func(in Input, r tools.Result[Output]) string { return r.Did.Summary(in.NotebookPath) },
		IsDestructive: tools.Always[Input](),
		Path:          func(in Input) string { return in.NotebookPath },
		Prepare:       prepare,
		Preview:       preview,
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return file.Shown(o.text) },
	})
}

func prepare(env *tools.Env, in Input) (Input, error) {
	file.CompleteTarget(env, &in.NotebookPath, false)
	if err := file.CheckTarget(in.NotebookPath); err != nil {
		return in, err
	}
	if !strings.EqualFold(filepath.Ext(in.NotebookPath), ".ipynb") {
		return in, fault.New(plain.Line(in.NotebookPath)+" is not a notebook (.ipynb)", "Use Edit.")
	}
	return in, nil
}

// preview shows the operation and the new source of the cell.
func preview(_ context.Context, _ *tools.Env, in Input) tools.Preview {
	mode := in.EditMode
	heading := fmt.Sprintf("%s, %s the cell %q", plain.Text(in.NotebookPath), mode, in.CellID)
	switch {
	case mode == string(notebook.Insert) && in.CellID == "":
		heading = plain.Text(in.NotebookPath) + ", insert a first cell"
	case mode == string(notebook.Insert):
		heading = fmt.Sprintf("%s, insert a cell after the cell %q", plain.Text(in.NotebookPath), in.CellID)
	}
	if in.CellType != "" {
		heading += ", as " + in.CellType
	}
	if mode == string(notebook.Delete) {
		return tools.Preview{Text: heading + "\n"}
	}
	return file.PreviewText(heading, in.NewSource)
}

func run(ctx context.Context, env *tools.Env, in Input, o file.Options) (tools.Result[Output], error) {
	var change notebook.Change
	var moved bool
	c, err := o.Change(ctx, env, in.NotebookPath, func(old file.Old) (data []byte, err error) {
		switch {
		case !old.Exists:
			missing := file.Missing(env, in.NotebookPath)
			return nil, fault.New(missing.Fact, missing.Next+" Write makes a new notebook.")
		case old.Data == nil:
			return nil, fault.New(fmt.Sprintf("%s has %d bytes, and notebooks over %d are not edited", plain.Line(in.NotebookPath), old.Size, file.MaxEdit),
				"Remove outputs from it first, with a program such as jupyter nbconvert --clear-output.")
		case o.Guard != file.GuardOff && old.Known == file.Unread:
			return nil, file.NotRead(in.NotebookPath)
		case o.Guard != file.GuardOff && old.Known == file.Stale:
			return nil, file.StaleFault(in.NotebookPath, old)
		}
		data, change, err = notebook.Apply(old.Data, notebook.Edit{
			Mode: notebook.Mode(in.EditMode), CellID: in.CellID, CellType: in.CellType, Source: in.NewSource,
		})
		if err == nil && change.Placed && old.Moved && o.Guard != file.GuardOff {
			return nil, fault.New(fmt.Sprintf("cells of %s have moved since it was read, so %s may be another one now; nothing was changed",
				plain.Line(in.NotebookPath), plain.Line(in.CellID)), "Read it again, then send the call again with the name the cell has now.")
		}
		moved = old.Moved || moves(in, change)
		var f *fault.Fault
		if _, broken := notebook.Parse(old.Data); errors.As(broken, &f) {
			err = fault.New(f.Fact, "Repair it with Edit, which takes it as text while it cannot be parsed.")
		}
		return data, file.About(in.NotebookPath, err)
	})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	mode := in.EditMode
	hunks := file.Diff(change.OldSource, change.NewSource)
	out := Output{FilePath: in.NotebookPath, CellID: change.ID, EditMode: mode, Cells: change.Total}
	out.text = file.Answer(describeChange(in, change, mode), hunks, append(c.Notes(), notes(change)...))
	effect := c.Partly(nil)
	if change.Doubled && change.Renamed {
		effect = session.Effect{} // an id that the session knows now belongs to another cell, so the session must read again
	}
	for i := range effect.Reads {
		effect.Reads[i].Moved = moved
	}
	return tools.Result[Output]{Data: out, Effect: effect, Meta: file.Meta(hunks), Did: c.Did(hunks)}, nil
}

// moves reports whether a change moves other cells to new places.
func moves(in Input, change notebook.Change) bool {
	switch notebook.Mode(in.EditMode) {
	case notebook.Insert:
		return change.Number < change.Total
	case notebook.Delete:
		return change.Number <= change.Total
	}
	return false
}

// describeChange returns the first line of the answer: the operation and the names of the cell.
func describeChange(in Input, change notebook.Change, mode string) string {
	verb := map[string]string{"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[mode]
	return fmt.Sprintf("%s %s of %s, which has %s now.", verb, name(change, mode), plain.Line(in.NotebookPath), file.Plural(change.Total, "cell"))
}

// name returns the names of a cell: its id and the name of its place, cell-N.
func name(change notebook.Change, mode string) string {
	place := fmt.Sprintf("cell-%d", change.Number-1)
	switch {
	case change.ID == place:
		return place
	case mode == "delete": // the place now belongs to another cell
		return "cell " + plain.Line(change.ID)
	}
	return fmt.Sprintf("cell %s (%s)", plain.Line(change.ID), place)
}

func notes(change notebook.Change) []string {
	var out []string
	if change.OldType != "" && change.Type != "" && change.OldType != change.Type {
		out = append(out, fmt.Sprintf("its type was %s and is %s now", change.OldType, change.Type))
	}
	if change.Cleared && change.Type != "" {
		out = append(out, "its outputs and execution count are gone")
	}
	if change.Renamed {
		out = append(out, "the cells after it have moved, and cell-N is a place: read the notebook again for their names")
	}
	return out
}
