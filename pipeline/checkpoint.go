package pipeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/policy"
)

// scope is what a call may change in the workspace.
type scope uint8

const (
	changesNothing scope = iota
	changesPaths         // only files that it opens by Env.Files
	changesRoots         // anything
)

// scope returns what the call may change in the workspace: a program or a tool of another server
// anything, and so do hooks after a call.
func (c *call) scope() scope {
	d, f := c.tool.Declared, c.prepared.Facts
	switch {
	case f.ReadOnly, d != nil && d.ReadOnlyHint(), c.changes() == nil, c.tool.Server != "" && c.p.Undo.Elsewhere(c.env.Session):
		return changesNothing
	case c.tool.Server != "", c.prepared.Parts(c.env) != nil, f.Destructive && f.OpenWorld, c.hookedAfter():
		return changesRoots
	case c.prepared.Path != "":
		return changesPaths
	}
	return changesNothing
}

// changes returns the store for what the call changes; nil if nothing is recorded.
func (c *call) changes() *undo.Store { return c.p.Undo.For(c.env.Session) }

// recordChanges begins to record what the call changes, for an undo. The caller must call end after
// the call and its hooks.
func (c *call) recordChanges(ctx context.Context) (end func(), err error) {
	about := undo.Call{Owner: c.Session.View().Owner(), Tool: c.tool.Name, ID: c.ID, Title: c.prepared.Summary}
	switch c.scope() {
	case changesNothing:
		return func() {}, nil
	case changesPaths:
		r := c.changes().BeginExact(about)
		c.env.Files = c.env.Files.Watched(workspace.Watch(r.Watch))
		return func() { r.End(ctx) }, nil
	}
	done := c.heldUp("a checkpoint for undo")
	r, err := c.changes().Begin(ctx, about)
	done()
	if err != nil {
		return nil, err
	}
	if c.decision.Checkpoint {
		if why := r.Secure(); why != "" {
			r.End(ctx)
			return nil, &refusal{stageRefused, "it was allowed because all that it may destroy could be restored, and that has changed: " + why, "Send the call again; the user is asked then."}
		}
	}
	c.recording.Store(r)
	return func() {
		if line := r.End(ctx); line != "" && c.prepared.Path == "" {
			c.notes = append(c.notes, line)
		}
	}, nil
}

// hold keeps the recording open for what the call leaves running.
func (c *call) hold() (release func()) {
	if r := c.recording.Load(); r != nil {
		most := undo.MaxLate
		if c.prepared.Parts(c.env) == nil { // the program of an agent, which has a limit of its own
			most = time.Hour
		}
		return r.Hold(most)
	}
	return func() {}
}

// spareScratch removes the risk of a command that destroys only files in the session's folder for
// temporary files, which hold nothing that must be restored, or files that do not exist.
func spareScratch(p *policy.Parts) {
	if p.Unresolved != "" || len(p.Targets) == 0 || slices.ContainsFunc(p.List, func(p policy.Part) bool { return p.UnknownWrites }) ||
		slices.ContainsFunc(p.Targets, func(t policy.Target) bool { return t.Access == policy.Edit && !t.Free && !t.Absent }) {
		return
	}
	for i := range p.List {
		program, _, _ := strings.Cut(p.List[i].Name, " ")
		if program == "git" || program == "tar" { // it also destroys files that it does not name
			continue
		}
		if part := &p.List[i]; part.Destroys {
			part.Risk, part.Destroys = "", false
		}
	}
}

// covered reports whether all that a command may destroy is in the roots and could be restored,
// if that matters for the decision. It starts to store what the call may change. What the program
// of an agent does by itself is never covered: it has no checkpoint of its own, and the one of its
// agent lacks what others have made since.
func (c *call) covered(ctx context.Context, r policy.Request) bool {
	if c.explains || c.Unrun || c.scope() != changesRoots {
		return false
	}
	c.changes().Warm()
	if c.p.Undo.Elsewhere(c.env.Session) { // git commands there also change the repository
		return false
	}
	if !c.rules.AllowsCovered() || r.Own != nil || r.Parts.Unresolved != "" || len(r.Parts.Writable) > 0 {
		return false
	}
	destroys := false
	for i := range r.Parts.List {
		p := &r.Parts.List[i]
		if p.UnknownWrites || p.Risk != "" && !p.Destroys {
			return false
		}
		destroys = destroys || p.Destroys
	}
	if !destroys {
		return false
	}
	for _, t := range r.Parts.Targets {
		if workspace.Containing(c.p.Roots.Paths(), t.Canonical) == "" && !t.Free {
			return false
		}
	}
	done := c.heldUp("a checkpoint for undo")
	defer done()
	covered, _ := c.p.Undo.Covered(ctx)
	return covered
}
