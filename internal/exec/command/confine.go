package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/sandbox"
)

// confinement is the message to a supervisor: the policy of the command, and the
// parts of the sandbox that must be in force because they were in the trial.
type confinement struct {
	Policy          sandbox.Policy
	Landlock        int
	Seccomp, Mounts bool
	Terminals       bool   // for a command with a terminal
	Say             string // file to which the supervisor writes the Coverage; "": none
}

// enclosure is the sandbox of a command that runs. Its zero value, with commands, holds nothing.
type enclosure struct {
	commands *Commands
	policy   *sandbox.Policy // nil: not confined
	guarded  *watched        // its protected names; nil: none are watched
	layer    io.Closer       // lock of its layer over caches; nil: it has none
	network  *attached       // nil: that of the server, or none
	openings []*opening      // what git may change in it
	front    string          // folder of what stands for git; "": nothing does
	undo     func()          // removes files that were made for it and not used; nil: none were
}

// leave ends the proxy and the watch of protected names, removes the files that were made for
// the command and not used, and unlocks the layer. It returns the names that were
// quarantined, and facts on the hosts that were not reached.
func (e *enclosure) leave() (w *watched, unreached []string) {
	if e.network != nil {
		unreached = e.network.detach()
	}
	if w = e.guarded; w != nil {
		e.commands.guard.end(w)
	}
	if e.undo != nil {
		e.undo()
	}
	if e.layer != nil {
		_ = e.layer.Close()
	}
	if e.front != "" {
		_ = os.RemoveAll(e.front)
		e.front = ""
	}
	e.network, e.guarded, e.undo, e.layer = nil, nil, nil, nil
	return w, unreached
}

// confine builds the policy of a command, including its grants, and starts to watch its
// protected names. The caller must call leave, also after an error.
func (e *enclosure) confine(s Spec, temp string, report *Report) (_ json.RawMessage, err error) {
	c := e.commands
	p := c.policy(s.Workspace, s.ReadOnly, temp, paths(s.Grants)...)
	p.Hide = append(p.Hide, s.Hide...)
	p.OwnNetwork = e.network != nil
	tried := report.ReadOnly.Coverage
	e.layer = c.grantCaches(&p, report.Write.Coverage.Layers)
	if !s.ReadOnly {
		e.guarded, p.Protect = c.guard.begin(s.Workspace.roots(), append(slices.Clone(p.Write), temp), s.Names...)
		tried = report.Write.Coverage
		p.Protect = c.guard.grant(e.guarded, p.Protect, s.Grants)
		if tried.Mounts && (!s.server || s.watched) {
			fixed := slices.Concat(s.Protect, s.Hide)
			if s.Workspace != nil {
				fixed = append(fixed, s.Workspace.Common) // settings of the checkout
			}
			p.Instead, p.Protect = c.guard.lend(e.guarded, p.Protect, temp, fixed)
		}
		p.Protect = slices.Concat(p.Protect, s.Protect, c.foreign(s.Workspace))
		if tried.Mounts && s.Git != nil {
			p.Protect = e.openForGit(s, p.Protect)
		}
		if tried.Mounts {
			e.guarded.noticeMounted(p.Protect)
		}
		if s.server && !s.watched {
			// It runs for hours, in which the user may make such names.
			c.guard.end(e.guarded)
			e.guarded = nil
		}
	}
	if e.undo, err = open(&p, s.Grants, tried.Masks()); err != nil {
		return nil, err
	}
	// A change that the user agreed to is made to the cache itself, not in a layer.
	p.Layered = slices.DeleteFunc(p.Layered, func(cache string) bool {
		return slices.ContainsFunc(s.Grants, func(g Grant) bool { return g.Change && inside(resolved(cache), g.Path) })
	})
	for _, folder := range s.installed {
		if real := resolved(folder); real != "/" && !holdsAny(real, p.Hide) && !c.writes(folder, real) {
			p.Read = append(p.Read, real)
		}
	}
	if tried.Mounts {
		if err := e.frontGit(&p, s); err != nil {
			return nil, err
		}
	}
	p.Network = p.Network && (p.OwnNetwork || !s.server || c.config.Network != Ask)
	e.policy = &p
	return encode(confinement{Policy: p, Landlock: tried.Landlock, Seccomp: tried.Seccomp, Mounts: tried.Mounts, Terminals: s.Terminal != nil}), nil
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return data
}

// Supervise runs a supervisor of a command, in a process whose only argument is
// process.Arg. It returns the exit code.
func Supervise() int {
	return process.Serve(func(spec json.RawMessage, join func() error, start func(launcher ...string) error) error {
		var c confinement
		if err := json.Unmarshal(spec, &c); err != nil {
			return err
		}
		return sandbox.Within(c.Policy, join, func(has sandbox.Coverage) error {
			if has.Landlock < c.Landlock || c.Seccomp && !has.Seccomp || c.Mounts && !has.Mounts || c.Terminals && !has.Terminals {
				return fmt.Errorf("less is in force than when it was tried: %s", strings.Join(has.Missing, "; "))
			}
			if c.Say != "" {
				if err := os.WriteFile(c.Say, encode(has), 0o600); err != nil {
					return err
				}
			}
			return start(sandbox.Launcher(c.Policy)...)
		})
	})
}
