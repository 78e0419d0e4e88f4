package clients

import "mcp-toolset/clients/edit"

// List holds the clients by name. Paths and shapes are those of the clients' documents in November
// 2026.
var List = []Client{
	{
		Name: "claude-code", Title: "Claude Code", Programs: []string{"claude"},
		Files:   map[string][]string{"": {"$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"}},
		Project: []string{".mcp.json"},
		Table:   "mcpServers", shape: typedShape, http: httpShape{"url", "http", "${MCP_TOOLSET_TOKEN}"},
		Misleads: `A worktree or a schedule of Claude Code is not one of this server: its tools go on in the first folder. To switch these off, put this into .claude/settings.json of the project, or of your home folder: {"permissions": {"deny": ["EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "CronList"]}}. This server has its own worktrees and plan mode with --feature worktrees=on and --feature plan=on`,
		BuiltIn:  `To switch them off, add these to the same list: "Read", "Edit", "Write", "Bash", "Grep", "Glob", "NotebookEdit", "WebFetch", "WebSearch", "TaskStop", "SendMessage"`,
		Next:     "start Claude Code again; /mcp shows the server",
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop",
		Files: map[string][]string{
			"":       {"$XDG_CONFIG_HOME/Claude/claude_desktop_config.json"},
			"darwin": {"~/Library/Application Support/Claude/claude_desktop_config.json"},
			"windows": {
				"$LOCALAPPDATA/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
				"$LOCALAPPDATA/Claude-Data/claude_*/claude_desktop_config.json",
				"$APPDATA/Claude/claude_desktop_config.json",
			},
		},
		Table: "mcpServers", NeedsFolder: true,
		Next: "quit Claude Desktop completely and start it again. It may drop an entry that it did not make, so look with `mcp-toolset install`; the bundle of a release, mcp-toolset-*.mcpb, opened in it, stays",
	},
	{
		Name: "cline", Title: "Cline", Programs: []string{"cline"},
		Files: map[string][]string{
			"":        {"~/.cline/data/settings/cline_mcp_settings.json", "$XDG_CONFIG_HOME/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
			"darwin":  {"~/.cline/data/settings/cline_mcp_settings.json", "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
			"windows": {"~/.cline/data/settings/cline_mcp_settings.json", "$APPDATA/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		},
		Table: "mcpServers", shape: timedShape, http: httpShape{"url", "streamableHttp", "${env:MCP_TOOLSET_TOKEN}"}, NeedsFolder: true,
		BuiltIn: "They cannot be switched off: do not approve them automatically, and write in the rules of Cline which to prefer",
		Next:    "Cline reads the file at once; its MCP Servers panel shows the server",
	},
	{
		Name: "codex", Title: "Codex", Programs: []string{"codex"},
		Files:   map[string][]string{"": {"$CODEX_HOME/config.toml", "~/.codex/config.toml"}},
		Project: []string{".codex/config.toml"},
		Format:  edit.TOML, Table: "mcp_servers", shape: codexShape, http: httpShape{"url", "", "MCP_TOOLSET_TOKEN"},
		BuiltIn: "To switch them off, except apply_patch, put this into config.toml under [features]: shell_tool = false. codex exec then refuses all but reads, unless [mcp_servers.toolset] has default_tools_approval_mode = \"approve\"",
		Next:    "start Codex again; `codex mcp list` shows the server. A project's file holds in trusted projects only",
	},
	{
		Name: "cursor", Title: "Cursor", Programs: []string{"cursor", "cursor-agent"},
		Files:   map[string][]string{"": {"~/.cursor/mcp.json"}},
		Project: []string{".cursor/mcp.json"},
		Table:   "mcpServers", http: httpShape{"url", "", "${env:MCP_TOOLSET_TOKEN}"}, Workspace: "${workspaceFolder}",
		BuiltIn: "To switch them off, make a custom mode without tools for files and the terminal: Cursor Settings, Chat",
		Next:    "switch the server on in Cursor Settings, MCP",
	},
	{
		Name: "gemini-cli", Title: "Gemini CLI", Programs: []string{"gemini"},
		Files:   map[string][]string{"": {"~/.gemini/settings.json"}},
		Project: []string{".gemini/settings.json"},
		Table:   "mcpServers", http: httpShape{"httpUrl", "", "${MCP_TOOLSET_TOKEN}"},
		BuiltIn: `To switch them off, put this into settings.json: {"tools": {"exclude": ["read_file", "read_many_files", "write_file", "replace", "run_shell_command", "list_directory", "glob", "grep_search"]}}`,
		Next:    "start Gemini CLI again; /mcp shows the server. It starts servers in trusted folders only",
	},
	{
		Name: "goose", Title: "Goose", Programs: []string{"goose"},
		Files:  map[string][]string{"": {"$XDG_CONFIG_HOME/goose/config.yaml"}, "windows": {"$APPDATA/Block/goose/config/config.yaml"}},
		Format: edit.YAML, Table: "extensions", shape: gooseShape, http: httpShape{"uri", "streamable_http", "${MCP_TOOLSET_TOKEN}"},
		BuiltIn: "To switch them off, run `goose configure`, Toggle Extensions, and clear developer",
		Next:    "start a new session",
	},
	{
		Name: "lm-studio", Title: "LM Studio", Programs: []string{"lms"},
		Files: map[string][]string{"": {"~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"}},
		Table: "mcpServers", http: httpShape{key: "url"}, NeedsFolder: true,
		Next: "switch the server on in the Program tab of LM Studio",
	},
	{
		Name: "opencode", Title: "opencode", Programs: []string{"opencode"},
		Files:   map[string][]string{"": {"$XDG_CONFIG_HOME/opencode/opencode.jsonc", "$XDG_CONFIG_HOME/opencode/opencode.json"}},
		Project: []string{"opencode.jsonc", "opencode.json"}, Merged: []string{".opencode/opencode.jsonc", ".opencode/opencode.json"},
		Table: "mcp", shape: opencodeShape, http: httpShape{"url", "remote", "{env:MCP_TOOLSET_TOKEN}"},
		BuiltIn: `To switch them off, put this into the same file: {"permission": {"read": "deny", "edit": "deny", "bash": "deny", "grep": "deny", "glob": "deny", "list": "deny"}}`,
		Next:    "start opencode again; `opencode mcp list` shows the server",
	},
	{
		Name: "qwen-code", Title: "Qwen Code", Programs: []string{"qwen"},
		Misleads: `A worktree or a schedule of Qwen Code is not one of this server: its tools go on in the first folder. To switch these off, put this into settings.json: {"tools": {"exclude": ["enter_worktree", "exit_worktree", "cron_create", "cron_delete", "cron_list"]}}. This server has its own worktrees with --feature worktrees=on`,
		Files:    map[string][]string{"": {"~/.qwen/settings.json"}},
		Project:  []string{".qwen/settings.json"},
		Table:    "mcpServers", http: httpShape{"httpUrl", "", "${MCP_TOOLSET_TOKEN}"},
		BuiltIn: `To switch them off, add these to the same list: "read_file", "write_file", "edit", "run_shell_command", "list_directory", "glob", "grep_search", "notebook_edit"`,
		Next:    "start Qwen Code again; /mcp shows the server. It starts servers in trusted folders only",
	},
	{
		Name: "vscode", Title: "VS Code", Programs: []string{"code"},
		Files: map[string][]string{
			"":        {"$XDG_CONFIG_HOME/Code/User/mcp.json"},
			"darwin":  {"~/Library/Application Support/Code/User/mcp.json"},
			"windows": {"$APPDATA/Code/User/mcp.json"},
		},
		Project: []string{".vscode/mcp.json"},
		Table:   "servers", shape: typedShape, http: httpShape{"url", "http", "${env:MCP_TOOLSET_TOKEN}"}, Workspace: "${workspaceFolder}",
		BuiltIn: "To switch them off, open the tools picker of the chat and clear the built-in tools for files, search and the terminal",
		Next:    "start the server: MCP: List Servers in the command palette",
	},
	{
		Name: "windsurf", Title: "Windsurf", Programs: []string{"windsurf"},
		Files: map[string][]string{"": {"~/.codeium/windsurf/mcp_config.json"}},
		Table: "mcpServers", http: httpShape{"serverUrl", "", "${env:MCP_TOOLSET_TOKEN}"}, NeedsFolder: true,
		BuiltIn: "They cannot be switched off: write in the rules of Windsurf which to prefer",
		Next:    "refresh the servers in Windsurf Settings, Cascade",
	},
	{
		Name: "zed", Title: "Zed", Programs: []string{"zed", "zeditor"},
		Files: map[string][]string{
			"":        {"$XDG_CONFIG_HOME/zed/settings.json"},
			"darwin":  {"~/.config/zed/settings.json"},
			"windows": {"$APPDATA/Zed/settings.json"},
		},
		Project: []string{".zed/settings.json"},
		Table:   "context_servers", http: httpShape{key: "url"},
		BuiltIn: "To switch them off, open the profile menu of the agent panel and make a profile without the built-in tools",
		Next:    "Zed reads the file at once; the agent's settings show the server",
	},
}
