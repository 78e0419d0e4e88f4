package assembly

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/agent"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/worktree"
	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
)

// agentTypes returns the types of agents: those of takenTypes, and those of agent files. A name belongs
// to the first. Without a model, there are only programs.
func (p *Plan) agentTypes() []agent.Type {
	types := p.takenTypes()
	if p.Settings.Models() == nil {
		return types
	}
	found, _ := p.agentFiles()
	known := ToolNames()
	for _, a := range found {
		if hasType(types, a.Name) {
			continue // FindProfiles reports it
		}
		profile, _ := agentProfile(a, known)
		if slices.Contains(profile.Tools, "*") {
			profile.Tools = nil
		}
		small, _ := agent.IsSmall(strings.ToLower(a.Model))
		types = append(types, agent.Type{Name: a.Name, Description: a.Description, Prompt: plain.Cut(a.Prompt, maxAgentPrompt), Profile: profile, Small: small, Steps: a.Steps})
	}
	return types
}

// takenTypes returns the types of agents whose names no agent file can have: those built in, which need
// a model, and programs of the settings.
func (p *Plan) takenTypes() (types []agent.Type) {
	if p.Settings.Models() != nil {
		types = builtinTypes()
	}
	for _, a := range p.Settings.AgentPrograms() {
		types = append(types, agent.Type{Name: a.Name, Description: programText(a), Profile: &session.Profile{Name: a.Name}, Program: &agent.Program{Command: a.Command, ACP: a.ACP, Uncontained: a.Uncontained}})
	}
	return types
}

// builtinTypes returns the types of agents that need no settings.
func builtinTypes() []agent.Type {
	types := []agent.Type{
		{Name: "general", Description: "any task, with all tools", Profile: &session.Profile{Name: "general"}, Guided: true},
	}
	texts := map[string][2]string{
		"explore": {
			"finds out something; only reads",
			"Find out what the task asks for. You only read: search broadly first, then read what matters, several calls in one message. Report facts with paths and line numbers, and say what you did not look at.",
		},
		"plan": {
			"makes a plan for a change; only reads",
			"Make a plan for the change that the task asks for. You only read. Report the steps in order with the files and names concerned, what could break, and how to check the result.",
		},
	}
	for _, b := range BuiltinProfiles() {
		if t, ok := texts[b.Name]; ok {
			types = append(types, agent.Type{Name: b.Name, Description: t[0], Prompt: t[1], Profile: b})
		}
	}
	return types
}

func hasType(types []agent.Type, name string) bool {
	return slices.ContainsFunc(types, func(t agent.Type) bool { return t.Name == name })
}

// maxAgentPrompt is the limit of the prompt of an agent file, in characters.
const maxAgentPrompt = 30_000

// agents returns the registry of agents, or nil without any type. opened returns the server once it is
// put together.
func (p *Plan) agents(m languageModels, run bash.Options, sessions *peers.Registry, worktrees *worktree.Registry, access func(session.View) tools.CommandAccess, opened func() *Assembly) *agent.Registry {
	types := p.agentTypes()
	if len(types) == 0 {
		return nil
	}
	folder := filepath.Join(p.State, "agents")
	if p.options.Approvals { // this serves clients
		for _, path := range agent.Recover(folder) {
			p.Log.Warn("an agent was lost when its server was killed; mcp-toolset worktrees lists its worktree, if it had one", "transcript", path)
		}
	}
	return agent.New(agent.Options{
		Types: types, Large: m.large, Small: m.small, Launch: p.launcher(run.Commands, access), Guide: p.guide,
		Open: func(parent session.View, name, call string, profile *session.Profile) agent.Session {
			return opened().Server.OpenAgent(parent, name, call, profile)
		},
		Tasks: run.Tasks, NewLog: newLog(run), Events: p.Events, Journal: p.Journal, Worktrees: worktrees,
		Free: sessions.Free, ValidName: peers.ValidName, Folder: folder, Limits: agent.DefaultLimits(), Log: p.Log,
	})
}

// newLog returns a function that makes an output log, and a writer that fills it.
func newLog(run bash.Options) func() (*spool.Log, io.WriteCloser, error) {
	return func() (*spool.Log, io.WriteCloser, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		log, err := run.NewLog("agent")
		if err != nil {
			return nil, nil, errors.Join(err, r.Close(), w.Close())
		}
		go func() { _ = log.Pump(r) }()
		return log, w, nil
	}
}
