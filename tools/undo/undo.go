// Package undo provides the tool Undo.
package undo

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
)

// Options holds the settings of the tool.
type Options struct {
	// Store returns the change sets of the workspace. It returns nil if none are recorded.
	Store func() *undo.Store
}

// Input holds the arguments of Undo.
type Input struct {
	ID     int      `json:"id,omitempty" minimum:"0" jsonschema:"Number of the change set, as answers show it (undo 41); without it, the last of this session that is not undone"`
	Paths  []string `json:"paths,omitempty" jsonschema:"Only these files and folders; without it, all that the change set has"`
	DryRun bool     `json:"dry_run,omitempty" jsonschema:"Only show what would be done"`
}

// Output holds the result of Undo.
type Output struct {
	ID        int    `json:"id" jsonschema:"The change set that was undone"`
	Undo      int    `json:"undo,omitempty" jsonschema:"The change set that this undo is; undoing it takes it back"`
	Changed   int    `json:"changed" jsonschema:"Number of paths that were changed, or would be"`
	Unchanged int    `json:"unchanged" jsonschema:"Number of paths that were as before already"`
	Refused   int    `json:"refused" jsonschema:"Number of paths that were not undone"`
	Text      string `json:"text" jsonschema:"The change at each path, or the reason why there is none"`
}

//go:embed prompt.md
var prompt string

// maxPaths is the limit of paths of a call.
const maxPaths = 200

// prepared is the input with the change set that it means.
type prepared struct {
	Input
	set undo.Header
}

// New returns the tool Undo.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:        "Undo",
		Title:       "Undo changes of a call",
		Prompt:      prompt,
		SearchHint:  "undo revert restore take back changes deleted files",
		Loading:     tools.LoadDeferred,
		Description: describe,
		IsReadOnly:  tools.When(func(_ *tools.Env, in prepared) bool { return in.DryRun }),

		IsDestructive: tools.When(func(_ *tools.Env, in prepared) bool { return !in.DryRun }),
		Prepare:       func(env *tools.Env, in Input) (prepared, error) { return prepare(env, in, o) },
		Check:         check,
		Preview: func(ctx context.Context, env *tools.Env, in prepared) tools.Preview {
			text, err := in.show(ctx, env, o.Store().For(env.Session))
			if err != nil {
				text = ""
			}
			return tools.Preview{Text: text}
		},
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			return run(ctx, env, in, o.Store().For(env.Session))
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} },
	})
}

func describe(in prepared) string {
	text := fmt.Sprintf("Undo %d, %s: %s", in.set.Number, plain.Line(in.set.Tool), plain.Line(in.set.Title))
	if len(in.Paths) > 0 {
		text += ", only of " + plain.Line(strings.Join(in.Paths[:min(len(in.Paths), 3)], ", "))
	}
	return text
}

// check asks: a rule on Undo or the mode bypassPermissions allows the call.
func check(_ *tools.Env, in prepared) *policy.Decision {
	if in.DryRun {
		return nil
	}
	return &policy.Decision{
		Behavior: policy.Ask, Layer: policy.LayerTool, Reason: "it restores earlier states of files",
		Next: "use dry_run to see what it would do, or ask the user to undo it with mcp-toolset undo",
	}
}

func prepare(env *tools.Env, in Input, o Options) (p prepared, err error) {
	if len(in.Paths) > maxPaths {
		return p, fault.New(fmt.Sprintf("paths has %d entries; the most is %d", len(in.Paths), maxPaths), "Name folders, or leave paths out.")
	}
	in.Paths = slices.Clone(in.Paths)
	for i, path := range in.Paths {
		if strings.TrimSpace(path) == "" {
			return p, fault.New("a path is empty", "Leave it out.")
		}
		file.CompleteTarget(env, &in.Paths[i], true)
		in.Paths[i] = env.Abs(in.Paths[i])
	}
	store := o.Store().For(env.Session)
	if store == nil {
		return p, fault.New("changes are not recorded here", `Ask the user to set "undo": {"enabled": true} in their settings.`)
	}
	p.set, err = find(store, env.Session.Owner(), in.ID)
	in.ID = p.set.Number // a question is about this one, whatever happens meanwhile
	p.Input = in
	return p, err
}

func (in prepared) request(env *tools.Env) undo.Request {
	return undo.Request{
		Owner: env.Session.Owner(), Numbers: []int{in.ID}, Paths: in.Paths, DryRun: in.DryRun,
		Allowed: func(path string) error {
			if !env.Files.Allowed(path) {
				return errors.New("the rules do not allow a change of this path")
			}
			return nil
		},
	}
}

// show returns what the call would do, with diffs.
func (in prepared) show(ctx context.Context, env *tools.Env, store *undo.Store) (string, error) {
	in.DryRun = true
	out, err := store.Restore(ctx, in.request(env))
	if err != nil {
		return "", err
	}
	return out.Text(env.Session.Dir, true) + store.Diffs(&out, env.Session.Dir), nil
}

func run(ctx context.Context, env *tools.Env, in prepared, store *undo.Store) (tools.Result[Output], error) {
	var none tools.Result[Output]
	out, err := store.Restore(ctx, in.request(env))
	text := out.Text(env.Session.Dir, in.DryRun)
	switch {
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case err != nil && out.Number > 0:
		return none, fault.New("the undo stopped: "+plain.Line(err.Error()), fmt.Sprintf("Call it again to finish it, or undo %d to take back what it did.", out.Number))
	case errors.Is(err, undo.ErrNoPath):
		return none, fault.New(fmt.Sprintf("%d cannot be undone: %s", in.ID, err), "Use dry_run without paths to see the paths of the change set.")
	case err != nil:
		return none, fault.New(fmt.Sprintf("%d cannot be undone: %s", in.ID, plain.Line(err.Error())), "Ask the user to undo it with mcp-toolset undo.")
	}
	if in.DryRun {
		text += store.Diffs(&out, env.Session.Dir)
	}
	return tools.Result[Output]{Data: Output{
		ID: in.ID, Undo: out.Number, Changed: len(out.Done), Unchanged: out.Unchanged, Refused: len(out.Refused), Text: strings.TrimSpace(text),
	}, Failed: len(out.Done) == 0 && len(out.Refused) > 0, Private: true}, nil
}

// maxNamed is the limit of change sets that a fault names.
const maxNamed = 5

// find returns the change set that a call means.
func find(store *undo.Store, owner session.Owner, id int) (h undo.Header, err error) {
	other := "The user can see those of other sessions with mcp-toolset undo --list."
	if id == 0 {
		last, ok, err := store.Last(owner)
		if err != nil || !ok {
			return h, cmp.Or(err, error(fault.New("this session has no changes to undo", other)))
		}
		id = last
	}
	mine := func(h *undo.Header) bool { return store.Mine(h, owner) }
	if set, err := store.List(1, func(h *undo.Header) bool { return h.Number == id && mine(h) }); err != nil || len(set) == 1 {
		return append(set, h)[0], err
	}
	list, err := store.List(maxNamed, mine)
	if err != nil {
		return h, err
	}
	if len(list) > 0 {
		var known []string
		for _, h := range list {
			known = append(known, fmt.Sprint(h.Number))
		}
		other = "Use one of the last ones: " + strings.Join(known, ", ") + "."
	}
	return h, fault.New(fmt.Sprintf("this session has no change set %d", id), other)
}
