package command

import (
	"encoding/json"
	"fmt"
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
	Say             string // file to which the supervisor writes the Coverage; "": none
}

// confine builds the policy of a command, including its grants, and starts to watch its
// protected names.
func (r *Running) confine(s Spec, temp string, report *Report) (_ json.RawMessage, err error) {
	c := r.commands
	p := c.policy(s.ReadOnly, temp, paths(s.Grants)...)
	p.Hide = append(p.Hide, s.Hide...)
	p.OwnNetwork = r.network != nil
	tried := report.ReadOnly.Coverage
	r.layer = c.grantCaches(&p, report.Write.Coverage.Layers)
	if !s.ReadOnly {
		r.guarded, p.Protect = c.guard.begin(append(slices.Clone(p.Write), temp), s.Names...)
		p.Protect = append(c.guard.grant(r.guarded, p.Protect, s.Grants), s.Protect...)
		tried = report.Write.Coverage
	}
	if r.undo, err = open(&p, s.Grants, tried.Masks()); err != nil {
		if r.guarded != nil {
			c.guard.end(r.guarded)
		}
		return nil, err
	}
	r.policy = &p
	return encode(confinement{Policy: p, Landlock: tried.Landlock, Seccomp: tried.Seccomp, Mounts: tried.Mounts}), nil
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
			if has.Landlock < c.Landlock || c.Seccomp && !has.Seccomp || c.Mounts && !has.Mounts {
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
