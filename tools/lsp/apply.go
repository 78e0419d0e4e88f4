package lsp

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// ApplyInput holds the arguments of LSPApply.
type ApplyInput struct {
	ID string `json:"id" minLength:"1" jsonschema:"The id that LSP showed with the change"`
}

// applying is the input of LSPApply with the preview.
type applying struct {
	ApplyInput
	preview *preview
}

// Applied holds the result of LSPApply.
type Applied struct {
	Files []string `json:"files" jsonschema:"The changed files, absolute"`

	text string
}

//go:embed apply.md
var applyPrompt string

func newApply(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ApplyInput, applying, Applied]{
		Name:          "LSPApply",
		Title:         "Apply a previewed change",
		Prompt:        applyPrompt,
		SearchHint:    "apply rename refactoring code action quick fix preview",
		Loading:       tools.LoadDeferred,
		Description:   func(in applying) string { return "Apply " + in.preview.title + " to " + in.preview.paths("") },
		IsDestructive: tools.Always[applying](),
		Prepare: func(env *tools.Env, in ApplyInput) (applying, error) {
			p, ids := o.Previews.get(env.Session.Owner(), in.ID)
			if p != nil {
				return applying{in, p}, nil
			}
			next := "There are none now: ask LSP for rename or codeActions first."
			if len(ids) > 0 {
				next = "There are " + strings.Join(ids[:min(len(ids), 5)], ", ") + "."
			}
			return applying{}, fault.New("there is no preview with the id "+plain.Quote(in.ID), next)
		},
		Parts: func(env *tools.Env, in applying) *tools.Parts {
			parts := &tools.Parts{Text: in.preview.title + " in " + in.preview.paths(env.Session.Dir), Edits: true}
			for _, f := range in.preview.files {
				parts.Paths = append(parts.Paths, tools.NamedPath{Path: f.path, Access: policy.Edit})
			}
			return parts
		},
		Preview: func(_ context.Context, _ *tools.Env, in applying) tools.Preview {
			return tools.Preview{Text: in.preview.diff, Partial: strings.Contains(in.preview.diff, "not shown]")}
		},
		Matcher: func(in applying) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, pattern string) bool { return pattern == in.ID }
		},
		Call: func(ctx context.Context, env *tools.Env, in applying) (tools.Result[Applied], error) {
			return apply(ctx, env, in.preview, o)
		},
		Render: func(o Applied) []tools.Content { return file.Shown(o.text) },
	})
}

// apply writes the files of a preview. It holds the locks of all files before it writes the
// first one, and restores those that it wrote if another one cannot be written.
func apply(ctx context.Context, env *tools.Env, p *preview, o Options) (tools.Result[Applied], error) {
	var paths []string
	for _, f := range p.files {
		paths = append(paths, f.path)
	}
	change, release, err := o.Change.Hold(ctx, paths...)
	if err != nil {
		return tools.Result[Applied]{}, err
	}
	defer release()
	a := &application{env: env, change: change, files: p.files, old: make([][]byte, len(p.files))}
	if err := a.write(ctx, 0); err != nil {
		return tools.Result[Applied]{}, a.restore(err)
	}
	o.Previews.remove(p)
	out := Applied{text: fmt.Sprintf("Applied %s to %s: %s.", plain.Line(p.title), file.Plural(len(p.files), "file"), p.paths(env.Session.Dir))}
	for _, n := range a.notes {
		out.text += "\n[" + n + "]"
	}
	r := tools.Result[Applied]{Effect: a.effect, Did: new(tools.Did)}
	for i, f := range p.files {
		out.Files = append(out.Files, f.path)
		for _, h := range file.Diff(string(a.old[i]), string(f.after)) {
			r.Did.Added += h.NewLines
			r.Did.Removed += h.OldLines
		}
	}
	r.Data = out
	return r, nil
}

// application writes the files of a preview.
type application struct {
	env    *tools.Env
	change file.Options
	files  []target
	old    [][]byte // content of the files before; nil: not written
	effect session.Effect
	notes  []string
}

// write checks the file i and those after it, then writes them, the last first. So nothing is
// written before all are open and unchanged. The caller holds their locks.
func (a *application) write(ctx context.Context, i int) error {
	if i == len(a.files) {
		return nil
	}
	f := a.files[i]
	c, err := a.change.Change(ctx, a.env, f.path, func(old file.Old) ([]byte, error) {
		if !old.Exists || sha256.Sum256(old.Data) != f.before {
			return nil, fault.New(plain.Line(f.path)+" has changed since the preview; nothing was written", "Ask LSP for the change again.")
		}
		if a.old[i] == nil { // this is called again if somebody touches the file meanwhile
			if err := a.write(ctx, i+1); err != nil {
				return nil, err
			}
			a.old[i] = old.Data
		}
		return f.after, nil
	})
	if err != nil {
		a.old[i] = nil
		return err
	}
	for _, n := range c.Notes() {
		a.notes = append(a.notes, plain.Line(f.path)+": "+n)
	}
	a.effect.Reads = append(a.effect.Reads, c.Partly(nil).Reads...)
	return nil
}

// restore writes the old content of the files that were written, and returns the error for
// the call.
func (a *application) restore(cause error) error {
	var left []string
	restored := false
	for i, old := range a.old {
		if old == nil {
			continue
		}
		restored = true
		f := a.files[i]
		_, err := a.change.Change(context.Background(), a.env, f.path, func(now file.Old) ([]byte, error) {
			if sha256.Sum256(now.Data) != sha256.Sum256(f.after) {
				return nil, errors.New("somebody changed it")
			}
			return old, nil
		})
		if err != nil {
			left = append(left, plain.Line(f.path))
		}
	}
	var f *fault.Fault
	switch {
	case !restored || !errors.As(cause, &f):
		return cause
	case len(left) > 0:
		return fault.New(f.Fact+"; these files have the new content and could not be restored: "+strings.Join(left, ", "), "Look at them with git diff.")
	}
	return fault.New(f.Fact+"; the other files were restored", f.Next)
}
