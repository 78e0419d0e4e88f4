// Package undo provides the tool Undo.
package undo

import (
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
)

// Options holds the settings of the tool.
type Options struct {
	// Store returns the change sets of the workspace, or nil if none are recorded.
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
	Text      string `json:"text" jsonschema:"What was done at each path"`
}

//go:embed prompt.md
var prompt string

// maxPaths is the limit of paths of a call.
const maxPaths = 200

// New returns the tool Undo.
func New(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:       "Undo",
		Title:      "Undo changes of a call",
		Prompt:     prompt,
		SearchHint: "undo revert restore take back changes deleted files",
		Loading:    tools.LoadDeferred,
		Description: func(in Input) string {
			what := "the last changes of this session"
			if in.ID > 0 {
				what = fmt.Sprintf("the changes %d", in.ID)
			}
			if len(in.Paths) > 0 {
				what += ", only " + plain.Line(strings.Join(in.Paths[:min(len(in.Paths), 3)], ", "))
			}
			return "Undo " + what
		},
		IsReadOnly:    tools.When(func(_ *tools.Env, in Input) bool { return in.DryRun }),
		IsDestructive: tools.When(func(_ *tools.Env, in Input) bool { return !in.DryRun }),
		Prepare:       prepare,
		Check: func(_ *tools.Env, in Input) *policy.Decision {
			if in.DryRun {
				return nil
			}
			return &policy.Decision{
				Behavior: policy.Ask, Layer: policy.LayerTool, Reason: "it changes files to what they were before",
				Next: "use dry_run to see what it would do, or ask the user to undo it with mcp-toolset undo",
			}
		},
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			return run(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.Text}} },
	})
}

func prepare(env *tools.Env, in Input) (Input, error) {
	if len(in.Paths) > maxPaths {
		return in, fault.New(fmt.Sprintf("paths has %d entries; the most is %d", len(in.Paths), maxPaths), "Name folders, or leave paths out.")
	}
	in.Paths = slices.Clone(in.Paths)
	for i, path := range in.Paths {
		if strings.TrimSpace(path) == "" {
			return in, fault.New("a path is empty", "Leave it out.")
		}
		in.Paths[i] = env.Abs(path)
	}
	return in, nil
}

func run(ctx context.Context, env *tools.Env, in Input, o Options) (tools.Result[Output], error) {
	var none tools.Result[Output]
	store := o.Store()
	if store == nil {
		return none, fault.New("changes are not recorded", `Ask the user to set "undo": {"enabled": true} in the settings.`)
	}
	owner := env.Session.Owner()
	id, err := find(store, owner, in.ID)
	if err != nil {
		return none, err
	}
	out, err := store.Restore(ctx, undo.Request{
		Owner: owner, Numbers: []int{id}, Paths: in.Paths, DryRun: in.DryRun,
		Allowed: func(path string) error {
			if !env.Files.Allowed(path) {
				return errors.New("the rules do not allow to change it here")
			}
			return nil
		},
	})
	root := env.Session.Dir
	text := out.Text(root, in.DryRun)
	if err != nil {
		if out.Number > 0 {
			return none, fault.New("the undo stopped: "+plain.Line(err.Error())+". "+strings.TrimSpace(text), "Call it again to finish it.")
		}
		return none, fmt.Errorf("undoing %d: %w", id, err)
	}
	if in.DryRun {
		text += store.Diffs(&out, root)
	}
	return tools.Result[Output]{Data: Output{
		ID: id, Undo: out.Number, Changed: len(out.Done), Unchanged: out.Unchanged, Refused: len(out.Refused), Text: fmt.Sprintf("Undo of %d. %s", id, strings.TrimSpace(text)),
	}, Failed: len(out.Done) == 0 && len(out.Refused) > 0, Private: true}, nil
}

// maxNamed is the limit of change sets that a fault names.
const maxNamed = 5

// find returns the number of the change set that a call means.
func find(store *undo.Store, owner session.Owner, id int) (int, error) {
	if id == 0 {
		last, ok, err := store.Last(owner)
		if err == nil && !ok {
			err = fault.New("this session has no changes to undo", "The user can see those of other sessions with mcp-toolset undo --list.")
		}
		return last, err
	}
	list, err := store.List(maxNamed, func(h *undo.Header) bool { return store.Mine(h, owner) })
	if err != nil {
		return 0, err
	}
	set, err := store.List(1, func(h *undo.Header) bool { return h.Number == id && store.Mine(h, owner) })
	if err != nil || len(set) == 1 {
		return id, err
	}
	next := "The user can see those of other sessions with mcp-toolset undo --list."
	if len(list) > 0 {
		var known []string
		for _, h := range list {
			known = append(known, fmt.Sprint(h.Number))
		}
		next = "Use one of the last ones: " + strings.Join(known, ", ") + "."
	}
	return 0, fault.New(fmt.Sprintf("this session has no change set %d", id), next)
}
