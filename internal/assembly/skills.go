package assembly

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/skills"
	"mcp-toolset/tools/skill"
)

// skillFolders lists the folders of a project that have skills. Of those in the home folder the
// last is that of no client, so that it has no place there.
var skillFolders = []string{".claude/skills", ".agents/skills", ".mcp-toolset/skills"}

// agentFolders lists the folders of agent files, in a project and in the home folder.
var agentFolders = []string{".mcp-toolset/agents", ".claude/agents"}

// SkillSources returns the folders in which skills are searched for, in the order of precedence.
// Those of projects count only if the user trusts them.
func (p *Plan) SkillSources() []skills.Source {
	var sources []skills.Source
	if dir := p.Found.MachineFolder; dir != "" {
		sources = append(sources, skills.Source{Dir: filepath.Join(dir, "skills"), Layer: skills.Machine})
	}
	for _, dir := range p.options.Skills {
		sources = append(sources, skills.Source{Dir: dir, Layer: skills.CommandLine})
	}
	if filepath.IsAbs(p.Home) {
		home := []string{filepath.Join(p.Home, skillFolders[0]), filepath.Join(p.Home, skillFolders[1])}
		for _, dir := range home {
			sources = append(sources, skills.Source{Dir: dir, Layer: skills.User, Within: home})
		}
	}
	for _, root := range p.Found.Trusted {
		sources = append(sources, ProjectSkills(root)...)
	}
	return sources
}

// ProjectSkills returns the folders of a project in which skills are searched for.
func ProjectSkills(root string) (sources []skills.Source) {
	for _, dir := range skillFolders {
		sources = append(sources, skills.Source{Dir: filepath.Join(root, dir), Layer: skills.Project, Within: []string{root}})
	}
	return sources
}

// ProjectAgents returns the folders of the agent files of a project, or of the home folder.
func ProjectAgents(root string) (dirs []string) {
	for _, dir := range agentFolders {
		dirs = append(dirs, filepath.Join(root, dir))
	}
	return dirs
}

// agentFolders returns the folders of agent files: the user's, and those of projects that the user
// trusts.
func (p *Plan) agentFolders() (dirs []string) {
	if filepath.IsAbs(p.Home) {
		dirs = ProjectAgents(p.Home)
	}
	for _, root := range p.Found.Trusted {
		dirs = append(dirs, ProjectAgents(root)...)
	}
	return dirs
}

// agentFiles reads the agent files, once.
func (p *Plan) agentFiles() ([]skills.Agent, []skills.Issue) {
	if p.files == nil {
		p.files = &agentFiles{}
		p.files.agents, p.files.issues = skills.Agents(p.agentFolders())
	}
	return p.files.agents, slices.Clip(p.files.issues)
}

// agentFiles holds the content of the agent files, and the issues on them.
type agentFiles struct {
	agents []skills.Agent
	issues []skills.Issue
}

// Untrusted returns the roots whose skills and agent files are not used, since the user does not
// trust the projects.
func (p *Plan) Untrusted() []string {
	return withFiles(slices.DeleteFunc(p.CanonicalRoots(), func(root string) bool { return slices.Contains(p.Found.Trusted, root) }))
}

// withFiles returns those of the roots that have skills or agent files.
func withFiles(in []string) (roots []string) {
	for _, root := range in {
		agents, _ := skills.Agents(ProjectAgents(root))
		if set := skills.Scan(ProjectSkills(root), nil); len(set.Skills)+len(agents) > 0 {
			roots = append(roots, root)
		}
	}
	return roots
}

// DeniedSkill returns a function that returns why a rule denies a skill, or its file, or "".
func (p *Plan) DeniedSkill(s *settings.Settings) func(*skills.Skill) string {
	rules := policy.New(policy.Config{Rules: s.Rules(), Roots: p.CanonicalRoots(), Home: p.Home})
	return func(k *skills.Skill) string {
		file := k.File()
		canonical, err := filepath.EvalSymlinks(file)
		if err != nil {
			canonical = file
		}
		d := rules.Decide(policy.Request{
			Tool: "Skill", ReadOnly: true, Dir: p.options.Dir, Match: func(_ policy.Behavior, name string) bool { return name == k.Name },
			Target: &policy.Target{Literal: file, Canonical: canonical},
		})
		if d.Behavior != policy.Deny || d.Rule == "" {
			return ""
		}
		return fmt.Sprintf("the rule %s in %s denies it", plain.Quote(d.Rule), policy.Origin{Source: d.Source, Line: d.Line})
	}
}

// mostSkillWarnings is the limit of the warnings about skills at the start.
const mostSkillWarnings = 5

// findSkills searches for skills. Without a folder that could have some, Skills remains nil, and
// nothing looks for folders that appear later.
func (p *Plan) findSkills() {
	sources := p.SkillSources()
	folders := skills.Folders(sources)
	if len(folders) == 0 && len(p.options.Skills) == 0 {
		return
	}
	p.Skills = skills.NewLive(sources, p.DeniedSkill(p.Settings))
	p.Readable = append(p.Readable, folders...)
	problems := p.Skills.Now().Problems()
	for i, issue := range problems {
		if i == mostSkillWarnings {
			p.Log.Warn(fmt.Sprintf("%d more skills cannot be used; mcp-toolset skills lists them", len(problems)-i))
			break
		}
		p.Log.Warn("a skill cannot be used: " + issue.String())
	}
}

// followSkills lets the tool Skill follow changes of the skills.
func (p *Plan) followSkills(a *Assembly) {
	if p.Skills == nil {
		return
	}
	p.Skills.OnChange(func(*skills.Set) {
		if err := a.Registry.Replace(skill.New(skill.Options{Skills: p.Skills})); err != nil {
			p.Log.Error("the tool Skill cannot be replaced", "error", err.Error())
		}
	})
}

// fileTools lists the tools after whose calls skills with patterns of files are announced.
var fileTools = []string{"Edit", "NotebookEdit", "Read", "Write"}

// applies announces skills for the file of a call.
func applies(live *skills.Live) func(session.View, string, string) string {
	if live == nil {
		return nil
	}
	return func(v session.View, tool, path string) string {
		if !slices.Contains(fileTools, tool) || !v.Profile.Offers("Skill") {
			return ""
		}
		return live.Applies(v, path)
	}
}

// BuiltinProfiles returns the profiles that need no settings.
func BuiltinProfiles() []*session.Profile {
	return []*session.Profile{
		{Name: "explore", Tools: []string{"Read", "Grep", "Glob", "LSP", "BashReadOnly", "Skill", "WebFetch", "WebSearch"}, Plan: true},
		{Name: "plan", Plan: true},
		{Name: "full"},
	}
}

// FindProfiles returns the profiles of the settings, those built in and those of agent files. A
// name belongs to the first. The issues are on agent files. It adds the folder of the user's agent
// files to those that can be read.
func (p *Plan) FindProfiles() (list []*session.Profile, issues []skills.Issue) {
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(o *session.Profile) bool { return o.Name == name })
	}
	for _, s := range p.Settings.Profiles() {
		list = append(list, &session.Profile{Name: s.Name, Tools: s.Tools, Disallowed: s.DisallowedTools, Plan: s.Mode == string(policy.ModePlan), Prompt: s.Prompt})
	}
	for _, b := range BuiltinProfiles() {
		if !has(b.Name) {
			list = append(list, b)
		}
	}
	agents, issues := p.agentFiles()
	types, known := p.takenTypes(), ToolNames()
	for _, a := range agents {
		var uses []string
		if has(a.Name) {
			uses = append(uses, "profile")
		}
		if hasType(types, a.Name) {
			uses = append(uses, "type of Agent")
		}
		if len(uses) > 0 {
			issues = append(issues, skills.Issue{Path: a.File, Loaded: true, Text: "is not used as " + strings.Join(uses, " or ") + ": another one has the name " + a.Name + " and takes precedence"})
		}
		if has(a.Name) {
			continue
		}
		profile, note := agentProfile(a, known)
		if note != "" {
			issues = append(issues, skills.Issue{Path: a.File, Loaded: true, Text: note})
		}
		list = append(list, profile)
	}
	if filepath.IsAbs(p.Home) {
		for _, dir := range ProjectAgents(p.Home) {
			p.Readable = append(p.Readable, skills.Folders([]skills.Source{{Dir: dir}})...)
		}
	}
	return list, issues
}

// agentProfile makes a profile of an agent file. Tools that other hosts have are left out, and so
// are rules on tools, which a profile has not.
func agentProfile(a skills.Agent, known []string) (p *session.Profile, note string) {
	p = &session.Profile{Name: a.Name, Plan: a.Mode == string(policy.ModePlan), Prompt: a.Prompt}
	var left []string
	if a.Tools != nil {
		p.Tools = []string{}
		for _, name := range a.Tools {
			if slices.Contains(known, name) || strings.HasPrefix(name, "mcp__") || name == "*" {
				p.Tools = append(p.Tools, name)
			} else {
				left = append(left, plain.Key(name))
			}
		}
	}
	for _, name := range a.Disallowed {
		base, _, _ := strings.Cut(name, "(") // a rule on some calls removes the tool
		p.Disallowed = append(p.Disallowed, base)
	}
	if len(p.Prompt) > settings.MaxProfilePrompt {
		more := fmt.Sprintf("…\n[The rest of this text is in %s: Read it first.]", plain.Line(a.File))
		if len(more) > settings.MaxProfilePrompt/2 {
			more = "…"
		}
		p.Prompt = strings.ToValidUTF8(p.Prompt[:settings.MaxProfilePrompt-len(more)], "") + more
	}
	if len(left) > 0 {
		note = "leaves out names that no tool here has: " + strings.Join(left[:min(len(left), 10)], ", ")
	}
	return p, note
}

// PickProfile returns the profile with a name.
func PickProfile(list []*session.Profile, name string) (*session.Profile, error) {
	var names []string
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if near := nearest.Names(name, names, 1); len(near) == 1 {
		return nil, fmt.Errorf("there is no profile %q; did you mean %s?", name, near[0])
	}
	return nil, fmt.Errorf("there is no profile %q; there are %s", name, strings.Join(names, ", "))
}
