package worktree

import (
	"context"
	_ "embed"
	"fmt"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// ExitInput holds the arguments of ExitWorktree.
type ExitInput struct {
	Action  string `json:"action" enum:"keep,remove" jsonschema:"What happens to the worktree"`
	Discard bool   `json:"discard_changes,omitempty" jsonschema:"With remove: also remove changes that are not committed, and commits that are on no other branch"`
}

const remove = "remove"

//go:embed exit.md
var exitPrompt string

func newExit(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ExitInput, ExitInput, Output]{
		Name: "ExitWorktree", Feature: feature, Title: "Leave a git worktree", Prompt: exitPrompt,
		Loading: tools.LoadDeferred, SearchHint: "leave git worktree keep or remove branch",
		Interrupt: tools.Finish,
		Description: func(in ExitInput) string {
			switch {
			case in.Action != remove:
				return "Leave the worktree"
			case in.Discard:
				return "Remove the worktree with all work in it"
			}
			return "Remove the worktree"
		},
		IsDestructive: tools.When(func(_ *tools.Env, in ExitInput) bool { return in.Discard }),
		Prepare: func(env *tools.Env, in ExitInput) (ExitInput, error) {
			switch {
			case in.Discard && in.Action != remove:
				return in, fault.New("discard_changes is only for the action remove", "Leave it out.")
			case env.Session.Forgets():
				return in, stateless(env)
			case env.Session.Worktree == nil:
				return in, fault.New("the session is in no worktree", "EnterWorktree makes one.")
			}
			return in, nil
		},
		Check: func(env *tools.Env, in ExitInput) *policy.Decision {
			if !in.Discard {
				return nil
			}
			return &policy.Decision{
				Behavior: policy.Ask, Layer: policy.LayerTool,
				Reason: "it removes " + plain.Line(env.Session.Worktree.Folder) + " with changes and commits that are nowhere else",
				Next:   "leave with the action keep",
			}
		},
		Call:   o.exit,
		Render: render,
	})
}

func (o Options) exit(ctx context.Context, env *tools.Env, in ExitInput) (tools.Result[Output], error) {
	var out tools.Result[Output]
	v := env.Session
	m, err := o.Worktrees.Leave(v)
	if err != nil {
		return out, err
	}
	w := v.Worktree
	out.Data = Output{Dir: m.Dir, Folder: w.Folder, Branch: w.Branch}
	if in.Action == remove {
		branch, err := o.Worktrees.Remove(ctx, v, in.Discard)
		if err != nil {
			return out, err
		}
		out.Data.text = fmt.Sprintf("The worktree %s is removed", plain.Line(w.Folder))
		if branch != "" {
			out.Data.text += ", with the branch " + plain.Line(branch)
		}
	} else {
		out.Data.text = fmt.Sprintf("The worktree %s stays. EnterWorktree with its path enters it again, also for Undo of what was changed there", plain.Line(w.Folder))
	}
	o.Worktrees.Forget(v.Owner())
	if o.Left != nil {
		o.Left(w.Folder)
	}
	out.Data.text += ". The working directory is " + plain.Line(m.Dir) + "."
	out.Effect = session.Effect{Move: m}
	return out, nil
}
