// Package worktree provides the tools EnterWorktree and ExitWorktree.
package worktree

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Options holds the services of the tools.
type Options struct {
	Worktrees *worktree.Registry
	// Left is called when a session leaves a worktree, with its folder; nil: nothing is called.
	Left func(folder string)
}

// Output describes where the session is after a call.
type Output struct {
	Dir     string   `json:"dir" jsonschema:"The working directory of the session"`
	Folder  string   `json:"folder,omitempty" jsonschema:"The worktree that was entered, left or removed"`
	Branch  string   `json:"branch,omitempty" jsonschema:"The branch of the worktree"`
	Copied  []string `json:"copied,omitempty" jsonschema:"Files that were copied into the worktree"`
	Skipped []string `json:"skipped,omitempty" jsonschema:"Files that were not copied, with the reason"`

	text string
}

func render(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} }

// EnterInput holds the arguments of EnterWorktree.
type EnterInput struct {
	Name string `json:"name,omitempty" minLength:"1" maxLength:"64" jsonschema:"Name of the new worktree and its branch: at most 64 letters, digits, '.', '_' and '-', with '/' between parts"`
	Path string `json:"path,omitempty" minLength:"1" jsonschema:"Folder of an existing worktree of this repository to enter"`
}

// feature is the feature of the tools.
const feature = "worktrees"

//go:embed enter.md
var enterPrompt string

// New returns the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{
		tools.MustBuild(tools.Def[EnterInput, EnterInput, Output]{
			Name: "EnterWorktree", Feature: feature, Title: "Enter a git worktree", Prompt: enterPrompt,
			Loading: tools.LoadDeferred, SearchHint: "git worktree branch isolated copy parallel work",
			Interrupt: tools.Finish,
			Description: func(in EnterInput) string {
				if in.Path != "" {
					return "Enter the worktree " + plain.Line(in.Path)
				}
				return strings.TrimSpace("Make a worktree " + in.Name)
			},
			Prepare: func(env *tools.Env, in EnterInput) (EnterInput, error) {
				switch {
				case in.Name != "" && in.Path != "":
					return in, fault.New("name is for a new worktree, and path for an existing one", "Give one of them.")
				case in.Name != "" && !worktree.ValidName(in.Name):
					return in, fault.New("the name is invalid", "Use "+worktree.NameRule+".")
				case in.Path != "":
					in.Path = env.Abs(in.Path)
				}
				return in, nil
			},
			Check:  o.check,
			Call:   o.enter,
			Render: render,
		}),
		newExit(o),
	}
}

// check asks about a worktree elsewhere, since entering it makes it part of the workspace.
func (o Options) check(env *tools.Env, in EnterInput) *policy.Decision {
	if in.Path == "" || o.Worktrees == nil {
		return nil
	}
	path, err := workspace.Canonical(in.Path)
	if err == nil && (workspace.Containing(env.Session.Roots, path) != "" || o.Worktrees.Made(path)) {
		return nil
	}
	return &policy.Decision{
		Behavior: policy.Ask, Layer: policy.LayerTool,
		Reason: plain.Line(in.Path) + " is outside of the workspace, and EnterWorktree has not made it",
		Next:   "call EnterWorktree without path to make a worktree",
	}
}

func (o Options) enter(ctx context.Context, env *tools.Env, in EnterInput) (tools.Result[Output], error) {
	var out tools.Result[Output]
	if err := stateless(env); err != nil {
		return out, err
	}
	q := worktree.Request{Name: in.Name, Hidden: func(path string) bool { return env.Commands.HidingRule(path) != "" }}
	if in.Path != "" {
		var err error
		if q.Path, err = workspace.Canonical(in.Path); err != nil {
			return out, fault.New(plain.Line(in.Path)+" cannot be followed", "Use the path of a worktree.")
		}
	}
	e, err := o.Worktrees.Enter(ctx, env.Session, q)
	if err != nil {
		return out, err
	}
	w := e.Move.To
	out.Data = Output{Dir: e.Move.Dir, Folder: w.Folder, Branch: w.Branch, Copied: e.Names, Skipped: e.Skipped, text: entered(env.Session, e)}
	out.Effect = session.Effect{Move: &e.Move}
	return out, nil
}

func stateless(env *tools.Env) error {
	if !env.Session.Forgets() {
		return nil
	}
	return fault.New("a worktree needs a session, and the requests of this client have none", "Use git worktree in a command, and name the files by their full paths.")
}

// mostNamed is the limit of copied files that a text names.
const mostNamed = 5

func entered(v session.View, e *worktree.Entered) string {
	w := e.Move.To
	var b strings.Builder
	switch {
	case !e.New && w.Branch == "":
		fmt.Fprintf(&b, "The session is in the worktree %s, at no branch.\n", plain.Line(w.Folder))
	case e.New && e.NewBranch:
		fmt.Fprintf(&b, "The session is in the new worktree %s, on the new branch %s.\n", plain.Line(w.Folder), plain.Line(w.Branch))
	case e.New:
		fmt.Fprintf(&b, "The session is in the new worktree %s, on the branch %s, which existed.\n", plain.Line(w.Folder), plain.Line(w.Branch))
	default:
		fmt.Fprintf(&b, "The session is in the worktree %s, on the branch %s.\n", plain.Line(w.Folder), plain.Line(w.Branch))
	}
	if e.Move.Dir != w.Folder {
		fmt.Fprintf(&b, "The working directory is %s.\n", plain.Line(e.Move.Dir))
	}
	if n := len(e.Names); n > 0 {
		var names []string
		for _, name := range e.Names[:min(n, mostNamed)] {
			names = append(names, plain.Line(name))
		}
		more := ""
		if n > mostNamed {
			more = fmt.Sprintf(" and %d more", n-mostNamed)
		}
		fmt.Fprintf(&b, "Copied: %s%s.\n", strings.Join(names, ", "), more)
	}
	for _, why := range e.Skipped {
		fmt.Fprintf(&b, "Not copied: %s.\n", why)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "Not copied: %d more; %s are the limit.\n", e.More, worktree.Limits)
	}
	if e.Submodules {
		b.WriteString("Submodules are not checked out in it.\n")
	}
	if e.NoCommit {
		b.WriteString("The repository's folder is outside of the workspace, so commits need approval as before.\n")
	}
	fmt.Fprintf(&b, "The main checkout, %s, is read-only until ExitWorktree.", plain.Line(w.Main))
	return b.String()
}
