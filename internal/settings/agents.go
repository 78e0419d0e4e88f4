package settings

import (
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// agentsKey is the key of agents that are programs.
const agentsKey = "agents"

var (
	agentKeys      = []string{"command", "contained", "protocol"}
	agentProtocols = []string{"text", "acp"}
	// builtinAgents are the types of agents that no program can replace.
	builtinAgents = []string{"general", "general-purpose", "explore", "plan"}
)

// AgentProgram is an agent of the setting agents: a program of the user.
type AgentProgram struct {
	Name        string
	Command     []string // the program with its arguments
	ACP         bool     // it speaks the Agent Client Protocol
	Uncontained bool     // it runs outside of the sandbox
}

// AgentPrograms returns the setting agents in the order of the file. The caller must not modify it.
func (s *Settings) AgentPrograms() []AgentProgram {
	if s == nil {
		return nil
	}
	return s.agents
}

func (s *Settings) readAgents(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	s.agents = []AgentProgram{}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		switch {
		case len(g.key) > 64 || !profileName.MatchString(g.key):
			return fmt.Errorf("line %d: %s: a name has 1 to 64 small letters, digits and single hyphens", g.line, path)
		case slices.Contains(builtinAgents, g.key):
			return fmt.Errorf("line %d: %s: this type of agents is built in; use another name", g.line, path)
		case g.value.kind != isObject:
			return g.value.typeError(path, "an object")
		}
		a := AgentProgram{Name: g.key}
		for _, h := range g.value.fields {
			at := joinKey(path, h.key)
			var err error
			switch h.key {
			case "command":
				a.Command, err = s.readCommand(at, h.value)
			case "protocol":
				if a.ACP = h.value.text == "acp"; h.value.kind != isString || !slices.Contains(agentProtocols, h.value.text) {
					err = fmt.Errorf("line %d: %s: want one of %s, have %s", h.value.line, at, strings.Join(agentProtocols, ", "), plain.Quote(h.value.text))
				}
			case "contained":
				var contained bool
				contained, err = h.value.bool(at)
				a.Uncontained = !contained
			default:
				s.unknown(path, h, agentKeys)
			}
			if err != nil {
				return err
			}
		}
		if a.Command == nil {
			return fmt.Errorf("line %d: %s: it has no command; add the program with its arguments", g.line, path)
		}
		s.agents = append(s.agents, a)
	}
	return nil
}
