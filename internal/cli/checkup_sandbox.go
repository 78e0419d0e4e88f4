package cli

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"

	"mcp-toolset/internal/text/plain"
)

// tried tries the containment unless a check has failed. An error means a wrong command line.
func (k *checkup) tried(ctx context.Context) (*diagnosis, error) {
	d := &diagnosis{System: runtime.GOOS + "/" + runtime.GOARCH, Sandbox: k.sandbox}
	if k.failed() {
		k.add(checkWarn, "containment", "correct the above first", "not tried")
		return d, nil
	}
	tried, err := k.examine(ctx, k.host, slices.Clone(k.plan.Roots))
	if _, usage := errors.AsType[usageError](err); usage {
		return nil, err
	}
	if err != nil {
		k.fail("containment", err, "")
		return d, nil
	}
	k.containment(tried)
	k.network(tried)
	k.programs(tried)
	if k.detailed {
		k.notOffered(tried)
	}
	return tried, nil
}

// notOffered finds the tools that a server with these flags would not offer.
func (k *checkup) notOffered(d *diagnosis) {
	_, a, err := k.assemble(k.host, slices.Clone(k.plan.Roots), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		k.fail("tools", err, "")
		return
	}
	for _, t := range a.Registry.Absent() {
		d.NotOffered = append(d.NotOffered, absent{t.Name, plain.Text(t.Reason)})
	}
	if err := a.Close(); err != nil {
		k.fail("tools", err, "")
	}
}

// containment summarizes the findings about the sandbox.
func (k *checkup) containment(d *diagnosis) {
	const more = "mcp-toolset doctor --verbose shows what was tried"
	switch verdict := d.verdict(); {
	case len(d.Problems) > 1:
		k.add(checkFail, "containment", more, "%s (and %d more)", d.Problems[0], len(d.Problems)-1)
	case len(d.Problems) == 1:
		k.add(checkFail, "containment", more, "%s", d.Problems[0])
	case d.Sandbox == "off":
		k.add(checkWarn, "containment", "leave out --sandbox off", "%s", verdict)
	case !d.Tools[0].Contained && k.preset == "":
		k.add(checkWarn, "containment", "commands ask first; --preset dev allows those of everyday work", "%s", verdict)
	case verdict != inForce:
		k.add(checkWarn, "containment", more, "%s", verdict)
	default:
		k.add(checkOK, "containment", "", "%s (%s), with the shell %s", verdict, d.Tools[0].layers(), d.Shell)
	}
}

// network summarizes which hosts commands reach.
func (k *checkup) network(d *diagnosis) {
	switch {
	case !d.Tools[0].Contained: // the check of the containment covers it
	case d.NetworkProblem != "":
		k.add(checkWarn, "network", `set "network" in "sandbox" of the settings to "allow" or "deny" if that suits you`, "%s", d.networkText())
	default:
		k.add(checkOK, "network", "", "%s", d.networkText())
	}
}

// programs summarizes whether commands can run the programs of PATH.
func (k *checkup) programs(d *diagnosis) {
	switch n := len(d.Unreadable); {
	case !d.Tools[0].Contained: // the check of the containment covers it
	case n > 0:
		k.add(checkWarn, "programs", "add what they need to sandbox.allowRead in the settings", "%d of %d on PATH are out of reach of commands, such as %s", n, d.Programs, d.Unreadable[0])
	default:
		k.add(checkOK, "programs", "", "all %d on PATH are in reach of commands", d.Programs)
	}
}
