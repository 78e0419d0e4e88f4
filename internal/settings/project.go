package settings

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// project adds the settings of the project in a workspace root.
func (f *Found) project(root string, trust *Trust, tools []string, seen map[string]bool) error {
	layer := Layer{Name: Project, Path: projectFile(root)}
	if seen[layer.Path] {
		return nil
	}
	p, err := ReadProject(root)
	verdict := f.verdict(trust, p)
	if err == nil && trust.Trusts(root, p) {
		f.Trusted = append(f.Trusted, root)
	}
	if p != nil {
		f.add(layer.Path, p.Hash)
	}
	f.add(root, fmt.Sprint(verdict, err, slices.Contains(f.Trusted, root)))
	switch {
	case err != nil && verdict == Trusted:
		return err
	case err != nil:
		layer.Broken = true
		f.warn("%v; nothing of the file holds, since the project is not trusted", err)
		f.notify("%s cannot be read as settings. The project is not trusted, so the server runs without its rules.", plain.Line(layer.Path))
	case p == nil:
	case verdict == Trusted:
		layer.Settings, layer.Trusted = p.Settings, true
		f.faults = append(f.faults, p.Settings.Faults(tools)...)
	case len(p.Settings.Loosens()) == 0:
		layer.Settings, layer.Trusted = p.Settings, true // nothing needs the user's trust
	default:
		layer.Settings = p.Settings.Tightened()
		layer.Settings.checkAnchors(false)
		if verdict == Changed {
			layer.Changed = true
			f.warn("%s changed since it was trusted", plain.Line(p.Path))
		}
	}
	if verdict != Trusted {
		f.warnFaults(layer, tools)
	}
	seen[layer.Path] = true
	f.Layers = append(f.Layers, layer)
	return nil
}

// verdict reports whether the user trusts the project with its present settings file.
// p may be nil, and its Settings may be nil if the file is malformed.
func (f *Found) verdict(trust *Trust, p *ProjectSettings) Verdict {
	if p == nil || p.Settings != nil && len(p.Settings.Loosens()) == 0 {
		return Unknown
	}
	verdict, err := trust.Of(p)
	if err != nil {
		f.warn("%v: no project is trusted until that is mended", err)
	}
	return verdict
}

// warnFaults warns about faults in the settings of a project that is not trusted.
// Faults of rules are already among the warnings of the policy.
func (f *Found) warnFaults(layer Layer, tools []string) {
	for _, fault := range layer.Settings.Faults(nil) {
		f.warn("%s", fault)
	}
	faults := layer.Settings.Faults(tools)
	if len(faults) == 0 {
		return
	}
	text := faults[0]
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	if len(faults) > 1 {
		text += fmt.Sprintf(" This is the first of %d faults, which mcp-toolset policy check lists.", len(faults))
	}
	f.notify("%s The project is not trusted, so the server ignores this; only valid deny and ask rules hold.", text)
}

// notify adds a line to the notice.
func (f *Found) notify(format string, args ...any) {
	if f.Notice != "" {
		f.Notice += "\n"
	}
	f.Notice += "[" + fmt.Sprintf(format, args...) + " Ask the user to correct the file.]"
}
