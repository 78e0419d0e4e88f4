package pipeline

import (
	"context"
	"net/netip"
	"slices"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/web/site"
)

// newEnv returns the environment for the tool, with the session's present state.
func (c *call) newEnv() *tools.Env {
	progress := func(tools.Progress) {}
	if c.Progress != nil {
		progress = c.progress
	}
	env := &tools.Env{
		Session: c.Session.View(), ID: c.ID, Home: c.p.Home, Log: c.Log.With("tool", c.tool.Name),
		Progress: progress, Patient: c.Progress != nil, Approvable: c.Ask != nil || c.numbered(),
	}
	if c.p.Private != nil {
		c.temp = c.p.Private(env.Session)
		env.Place = func(path string, made bool) string {
			real := c.temp.Real(path, made)
			if real == path || workspace.Containing(c.p.readable(env.Session), path) != "" {
				return path
			}
			// A rule may open a file of the machine.
			d := c.rules.CheckPath(c.tool.Name, c.tool.Aliases, policy.Target{Literal: path, Canonical: path}, env.Session.Dir, nil)
			if d.Behavior == policy.Allow && d.Layer == policy.LayerRule {
				return path
			}
			return real
		}
		env.Shown = c.temp.Shown
		env.Real = func(path string, made bool) string {
			real := env.Place(path, made)
			at, merged := c.temp.Layered(real)
			if merged && !slices.Contains(env.Notes, mergedNote) {
				env.Notes = append(env.Notes, mergedNote)
			}
			return at
		}
	}
	// The policy checks each path right before it is opened, and every other
	// path the call opens. So the file that is opened is the one that was
	// allowed.
	more := c.readable(env.Session)
	env.Files = workspace.NewFiles(c.p.Roots, func(literal, canonical string) error {
		target := policy.Target{Literal: c.shown(literal), Canonical: canonical, Access: c.access, Free: c.free(literal, canonical, c.access)}
		d := c.rules.CheckPath(c.tool.Name, c.tool.Aliases, target, env.Session.Dir, more)
		switch {
		case c.preview.Load() && c.rules.Credentials(canonical):
			return &refusal{stageRefused, "a preview does not show a file that may hold credentials", ""}
		case d.Behavior == policy.Allow, d.Behavior == policy.Ask && c.granted(canonical, d):
			return nil
		case d.Behavior == policy.Ask:
			return &refusal{stageRefused, d.Reason + ", and the user is not asked in the middle of a call", "Name this path itself in a call."}
		}
		return refused(d)
	})
	env.Denied = func(path string) bool {
		canonical, err := workspace.Canonical(path)
		if err != nil {
			canonical = path
		}
		target := policy.Target{Literal: c.shown(path), Canonical: canonical, Access: policy.Read, Free: c.free(path, canonical, policy.Read)}
		return c.rules.CheckPath(c.tool.Name, c.tool.Aliases, target, env.Session.Dir, more).Behavior == policy.Deny
	}
	env.Secrets = func(folder string) func(string) bool {
		if !c.rules.SecretsBelow(folder) {
			return nil
		}
		return func(path string) bool {
			d, secret := c.rules.SecretPath(c.tool.Name, c.tool.Aliases, path, env.Session.Dir, more)
			return secret && !c.granted(path, d)
		}
	}
	env.Waiting = func() {
		if c.Ticket != nil && c.depth == 0 {
			c.Ticket.Yield()
		}
	}
	env.Depart = func() {
		if c.Ticket != nil && c.depth == 0 {
			c.Ticket.Depart()
		}
	}
	if c.Elicit != nil && c.depth == 0 { // the client cannot be asked during a nested call
		env.Elicit = c.elicit
	}
	if c.Ask != nil && c.AskWaits && c.depth == 0 {
		env.Asker = c.Ask
	}
	if c.end == nil {
		c.network, c.end = c.newConnections()
	}
	env.AskUser, env.Later = c.askUser, c.newLater()
	env.Commands = tools.CommandAccess{
		Uncontained: c.Uncontained,
		RestrictedPaths: func(ctx context.Context) (tools.RestrictedPaths, error) {
			return c.p.restrictedPaths(ctx, c.set, c.rules.HidingRules(env.Session.Dir, c.agreed), rootsOf(env.Session), c.grants)
		},
		Connections: c.network,
		Outside: func() func() {
			release, done := c.hold(), func() {}
			if c.p.Shared != nil {
				done = c.p.Shared.Outside()
			}
			return func() {
				done()
				release()
			}
		},
	}
	c.restrict(env)
	env.CheckAddr = func(s site.Site, addr netip.Addr) error {
		if d := c.rules.CheckAddr(s, addr); d.Behavior != policy.Allow {
			return refused(d)
		}
		return nil
	}
	env.Results = texts{c, env.Session.Results}
	return env
}

// restrict sets what of the access of commands depends on the rules only.
func (c *call) restrict(env *tools.Env) {
	kept := c.rules.HidingRules(env.Session.Dir, false)
	env.Commands.ReadDenied, env.Commands.ReadRule = kept.Any(policy.Read), kept.InRoots(policy.Read)
	env.Commands.HidingRule = func(path string) string { return kept.Rule(policy.Read, path) }
}

// granted reports whether the approval of the call also settles an ask decision
// d about a path. The path must be the call's target or below it, and the same
// rule or layer must have decided on both.
func (c *call) granted(canonical string, d policy.Decision) bool {
	t := c.target
	return t != nil && workspace.Within(t.canonical, canonical) && d.Secret == t.asks.Secret &&
		d.Layer == t.asks.Layer && d.Rule == t.asks.Rule && d.Source == t.asks.Source && d.Line == t.asks.Line
}

// mergedNote is the note for a folder of a cache in which the files of the machine and those that
// commands added are shown as one to commands only.
const mergedNote = "commands of this workspace have added files in this folder of a cache, which are not listed here: name the folder of one package, or use Bash with find or grep -r"

// readable returns the paths outside of the roots that a call may read in a session.
func (c *call) readable(v session.View) []string {
	out := c.p.readable(v)
	if c.temp != nil {
		out = append(out, c.temp.LayerFolders()...)
	}
	return out
}

// readable returns the paths outside of the roots that a session may read.
func (p *Pipeline) readable(v session.View) []string {
	return slices.Concat([]string{v.Results}, v.Outputs, p.Readable)
}
