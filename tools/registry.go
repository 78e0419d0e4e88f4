package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-toolset/internal/nearest"
)

// Registry is the fixed set of tools of a server, made once at start.
type Registry struct {
	tools  []*Tool
	byName map[string]*Tool // canonical names and aliases
	absent map[string]absent
}

// Absence is a tool that exists and is not offered.
type Absence struct{ Name, Reason string }

type absent struct {
	Absence
	tool *Tool
}

// Gates decide which tools of a list are offered.
type Gates struct {
	Features map[string]bool                          // switched features; a tool with a Feature needs it on
	Denied   func(*Tool) (reason string, denied bool) // whether policy removes the tool; nil: none
}

// NewRegistry makes a registry of the list. Names and aliases must be unique.
func NewRegistry(list []*Tool, g Gates) (*Registry, error) {
	r := &Registry{byName: map[string]*Tool{}, absent: map[string]absent{}}
	taken := map[string]string{}
	for _, t := range list {
		for _, name := range append([]string{t.Name}, t.Aliases...) {
			if by, dup := taken[name]; dup {
				return nil, fmt.Errorf("tools %s and %s are both called %s", by, t.Name, name)
			}
			taken[name] = t.Name
		}
		if reason := g.why(t); reason != "" {
			for _, name := range append([]string{t.Name}, t.Aliases...) {
				r.absent[name] = absent{Absence{t.Name, reason}, t}
			}
			continue
		}
		r.tools = append(r.tools, t)
		for _, name := range append([]string{t.Name}, t.Aliases...) {
			r.byName[name] = t
		}
	}
	slices.SortFunc(r.tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// why returns the reason a tool is absent, "" if it is offered.
func (g Gates) why(t *Tool) string {
	if t.Feature != "" && !g.Features[t.Feature] {
		return fmt.Sprintf("feature %s is off; a person can switch it on with --feature %s=on", t.Feature, t.Feature)
	}
	if g.Denied != nil {
		if reason, denied := g.Denied(t); denied {
			return reason
		}
	}
	if err := t.enabled(); err != nil {
		return err.Error()
	}
	return ""
}

// Features are the feature gates that tools of the list have, sorted.
func Features(list []*Tool) []string {
	set := map[string]bool{}
	for _, t := range list {
		if t.Feature != "" {
			set[t.Feature] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Tools are the tools offered, sorted by name in byte order.
func (r *Registry) Tools() []*Tool { return slices.Clone(r.tools) }

// Absent are the tools not offered, sorted by name.
func (r *Registry) Absent() []Absence {
	var out []Absence
	for name, a := range r.absent {
		if name == a.Name {
			out = append(out, a.Absence)
		}
	}
	slices.SortFunc(out, func(a, b Absence) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// UnknownTool is the error for a name that no offered tool has.
type UnknownTool struct {
	Name    string   // as called
	Nearest []string // offered tools it may have meant
	Offered []string // all offered tools, if there is none near
	Reason  string   // why the tool is absent, "" if there is no such tool
	Absent  *Tool    // the tool that is absent, nil if there is no such tool; not to be run
}

func (e *UnknownTool) Error() string {
	shown := clip([]byte(fmt.Sprintf("%q", e.Name)))
	switch {
	case e.Reason != "":
		return fmt.Sprintf("tool %s is not available: %s", shown, e.Reason)
	case len(e.Nearest) > 0:
		return fmt.Sprintf("there is no tool %s; the nearest is %s", shown, strings.Join(e.Nearest, ", "))
	default:
		return fmt.Sprintf("there is no tool %s; there are: %s", shown, clip([]byte(strings.Join(e.Offered, ", "))))
	}
}

// Lookup finds a tool by name or former name. The error is an *UnknownTool.
func (r *Registry) Lookup(name string) (*Tool, error) {
	if t := r.byName[name]; t != nil {
		return t, nil
	}
	if a, ok := r.absent[name]; ok {
		return nil, &UnknownTool{Name: name, Reason: a.Reason, Absent: a.tool}
	}
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Name
	}
	if near := nearest.Names(name, names, 3); len(near) > 0 {
		return nil, &UnknownTool{Name: name, Nearest: near}
	}
	return nil, &UnknownTool{Name: name, Offered: names}
}
