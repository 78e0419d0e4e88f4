package bash

import (
	"context"
	"slices"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// planGit finds out once what the git commands of the text would do to protected files, and adds
// what only the user can open to the files that the call changes.
func (p partsOf) planGit(env *tools.Env, c *command.Commands, j *judged) {
	if !j.gitPlanned {
		j.gitPlanned, j.gitPlan = true, planGit(env, c, j)
	}
	if j.gitPlan == nil {
		return
	}
	for _, path := range j.gitPlan.Asked {
		p.Paths = append(p.Paths, tools.NamedPath{Path: path, Access: policy.Edit, By: "git"})
	}
}

func planGit(env *tools.Env, c *command.Commands, j *judged) *command.GitPlan {
	var calls []command.GitCall
	for i := range j.Analysis.Commands {
		one := &j.Analysis.Commands[i]
		if one.Name != "git" || !one.Literal {
			continue
		}
		if call := (command.GitCall{Words: one.Words[1:], Dirs: one.Dirs, Input: one.Input, InputFile: one.InputFile}); call.Writes() {
			calls = append(calls, call)
		}
	}
	ctx := context.Background()
	if j.readOnly() || len(calls) == 0 || env.Commands.Uncontained || env.Commands.RestrictedPaths == nil || c.Uncontained(ctx) != nil {
		return nil
	}
	kept, err := env.Commands.RestrictedPaths(ctx)
	if err != nil {
		return nil // the call fails by it
	}
	s := command.Spec{Dir: env.Session.Dir, Workspace: WorkspaceOf(env.Session), Hide: kept.Hidden, Protect: kept.Unchanged, Names: kept.Names}
	// A file that a redirect gives to git is read for the plan only if the call may read it.
	calls = slices.DeleteFunc(calls, func(call command.GitCall) bool {
		return call.InputFile != "" && env.Denied != nil && env.Denied(call.InputFile)
	})
	return c.PlanGit(ctx, s, calls)
}
