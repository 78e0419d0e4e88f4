// Package builtin lists the built-in tools. To add one, add its package and one line here.
package builtin

import (
	"slices"
	"strings"

	"mcp-toolset/tools"
	"mcp-toolset/tools/agent"
	"mcp-toolset/tools/ask"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/brief"
	"mcp-toolset/tools/config"
	"mcp-toolset/tools/cron"
	"mcp-toolset/tools/edit"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/glob"
	"mcp-toolset/tools/grep"
	"mcp-toolset/tools/lsp"
	"mcp-toolset/tools/message"
	"mcp-toolset/tools/monitor"
	"mcp-toolset/tools/notebook"
	"mcp-toolset/tools/output"
	"mcp-toolset/tools/plan"
	"mcp-toolset/tools/read"
	"mcp-toolset/tools/repl"
	"mcp-toolset/tools/resources"
	"mcp-toolset/tools/skill"
	"mcp-toolset/tools/sleep"
	"mcp-toolset/tools/task"
	"mcp-toolset/tools/trigger"
	"mcp-toolset/tools/undo"
	"mcp-toolset/tools/webfetch"
	"mcp-toolset/tools/websearch"
	"mcp-toolset/tools/work"
	"mcp-toolset/tools/worktree"
	"mcp-toolset/tools/write"
	"mcp-toolset/toolsearch"
)

// Options holds the settings of the built-in tools. The zero value is valid.
type Options struct {
	Agent     agent.Options
	Read      read.Options
	Change    file.Options // for Edit, NotebookEdit and Write
	Glob      glob.Options
	Grep      grep.Options
	Bash      bash.Options
	REPL      repl.Options
	Tasks     task.Options
	Sleep     sleep.Options
	Brief     brief.Options
	Monitor   monitor.Options
	Plan      plan.Options
	Work      work.Options
	Message   message.Options
	Trigger   trigger.Options
	Undo      undo.Options
	Output    output.Options
	Config    config.Options
	Cron      cron.Options
	Fetch     webfetch.Options
	LSP       lsp.Options
	WebSearch websearch.Options
	Skill     skill.Options
	Worktree  worktree.Options
	Resources resources.Source // nil: there are no upstream servers
	Search    toolsearch.Options
}

// List returns the built-in tools, sorted by name.
func List(o Options) []*tools.Tool {
	list := []*tools.Tool{
		agent.New(o.Agent),
		brief.New(o.Brief),
		config.New(o.Config),
		edit.New(o.Change),
		glob.New(o.Glob),
		plan.NewEnter(o.Plan),
		plan.NewExit(o.Plan),
		ask.New(),
		grep.New(o.Grep),
		monitor.New(o.Monitor),
		notebook.New(o.Change),
		output.New(o.Output),
		read.New(o.Read),
		repl.New(o.REPL),
		skill.New(o.Skill),
		sleep.New(o.Sleep),
		trigger.New(o.Trigger),
		undo.New(o.Undo),
		webfetch.New(o.Fetch),
		websearch.New(o.WebSearch),
		write.New(o.Change),
	}
	list = append(list, bash.New(o.Bash)...)
	list = append(list, task.New(o.Tasks)...)
	list = append(list, work.New(o.Work)...)
	list = append(list, lsp.New(o.LSP)...)
	list = append(list, message.New(o.Message)...)
	list = append(list, worktree.New(o.Worktree)...)
	list = append(list, cron.New(o.Cron)...)
	list = append(list, resources.New(o.Resources)...)
	list = append(list, toolsearch.New(o.Search), toolsearch.CallTool(), toolsearch.CallReadOnlyTool())
	slices.SortFunc(list, func(a, b *tools.Tool) int { return strings.Compare(a.Name, b.Name) })
	return list
}
