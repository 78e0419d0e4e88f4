package policy

// claudeTools lists the tools of Claude Code, as of July 2026, and those that it had
// earlier. Users reuse its files, so a rule on one of them is no misspelling. The
// source is its tools reference (https://code.claude.com/docs/en/tools-reference). Some
// of them exist here as well.
var claudeTools = []string{
	"Agent", "AgentOutputTool", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Cd", "Config", "CronCreate",
	"CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Explore", "Glob",
	"Grep", "KillBash", "KillShell", "LS", "LSP", "ListAgents", "ListMcpResourcesTool", "McpSearch", "Monitor",
	"MultiEdit", "NotebookEdit", "NotebookRead", "PowerShell", "PushNotification", "REPL", "Read",
	"ReadMcpResourceTool", "ReadNotifications", "RemoteTrigger", "ScheduleWakeup", "SendFeedback", "SendMessage",
	"SendUserFile", "ShareOnboardingGuide", "Skill", "SlashCommand", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput",
	"TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch", "WaitForMcpServers",
	"WebFetch", "WebSearch", "Workflow", "Write",
}
