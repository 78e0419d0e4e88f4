package session

import (
	"path"
	"slices"
	"strings"
)

// Profile is a subset of the tools for a session. It only removes: what it offers is decided as in
// any other session. A nil Profile offers all tools. It is immutable.
type Profile struct {
	Name       string
	Tools      []string // nil: all
	Disallowed []string
	Plan       bool     // the session is in plan mode and stays in it
	Prompt     string   // for the instructions
	Within     *Profile // offers only tools that this profile offers, too; nil: no limit
}

// planTools lists the tools that switch plan mode, which a profile with Plan leaves out.
var planTools = []string{"EnterPlanMode", "ExitPlanMode"}

// Offers reports whether the profile offers the tool with some names: its own and former ones.
// In a profile, * in the name of an upstream tool stands for any text, and mcp__NAME for all tools
// of a server.
func (p *Profile) Offers(names ...string) bool {
	if p == nil {
		return true
	}
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(pattern string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return covers(pattern, name) })
		})
	}
	return (p.Tools == nil || in(p.Tools)) && !in(p.Disallowed) && !(p.Plan && in(planTools)) && p.Within.Offers(names...)
}

func covers(pattern, name string) bool {
	if pattern == name || strings.HasPrefix(pattern, "mcp__") && strings.HasPrefix(name, pattern+"__") {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
