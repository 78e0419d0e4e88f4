package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-toolset/internal/text/plain"
)

// maxAgents is the limit of the agent files in a folder.
const maxAgents = 200

// Agent describes an agent file: Markdown with front matter, as in .claude/agents and .mcp-toolset/agents.
type Agent struct {
	Name, Description string
	File              string
	Tools             []string // nil: all
	Disallowed        []string
	Mode              string // permissionMode
	Model             string // "": none
	Steps             int    // maxTurns; 0: none
	Prompt            string
}

// Agents reads the agent files in folders, the most authoritative first. Of those with one name
// the first is used.
func Agents(dirs []string) (agents []Agent, issues []Issue) {
	seen := map[string]string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		n := 0
		for _, e := range entries {
			base, isFile := strings.CutSuffix(e.Name(), ".md")
			if !isFile || e.IsDir() {
				continue
			}
			file := filepath.Join(dir, e.Name())
			if n++; n > maxAgents {
				issues = append(issues, Issue{Path: file, Text: fmt.Sprintf("is left out with all that follow: more than %d agent files", maxAgents)})
				break
			}
			a, bad := readAgent(dir, e.Name())
			switch {
			case bad != nil:
				issues = append(issues, Issue{Path: file, Line: bad.line, Text: bad.text, name: base})
			case seen[a.Name] != "":
				issues = append(issues, Issue{Path: file, Loaded: true, Text: fmt.Sprintf("is not used: %s has the same name and takes precedence", plain.Line(seen[a.Name]))})
			default:
				seen[a.Name] = file
				agents = append(agents, a)
			}
		}
	}
	return agents, issues
}

func readAgent(dir, file string) (Agent, *lineError) {
	a := Agent{File: filepath.Join(dir, file)}
	data, err := readIn(dir, file, maxFile)
	if err != nil {
		return a, at(0, "cannot be read: %v", err)
	}
	d, bad := parse(data)
	if bad != nil {
		return a, bad
	}
	name, line := d.text("name")
	if name == "" {
		name = strings.TrimSuffix(file, ".md")
	}
	if !isName(name) {
		return a, at(line, "the name %s cannot be used; %s", plain.Key(name), nameRule)
	}
	a.Name = name
	a.Description, _ = d.text("description")
	a.Mode, _ = d.text("permissionMode")
	a.Model, _ = d.text("model")
	if turns, _ := d.text("maxTurns"); turns != "" {
		a.Steps, _ = strconv.Atoi(turns)
	}
	a.Disallowed, _ = d.list("disallowedTools")
	tools, given := d.list("tools")
	if given && len(tools) > 0 {
		a.Tools = tools
	}
	a.Prompt = strings.TrimSpace(d.body)
	return a, nil
}
