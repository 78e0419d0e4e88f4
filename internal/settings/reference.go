package settings

// Key describes a key of the settings.
type Key struct {
	Name    string // with the keys above it, as in "permissions.deny"; of an object with free names they are <name>
	Value   string // the values it takes
	Meaning string
}

// Keys returns all keys of the settings, for docs/reference.md.
func Keys() []Key {
	return []Key{
		{"$schema", "string", "the JSON schema for editors: docs/settings.schema.json, or the output of mcp-toolset policy schema"},
		{"allowedMcpServers", "array", "the only upstream servers that may run; see deniedMcpServers"},
		{"classifier", "object", "a program or server on this machine that judges calls that would ask"},
		{"classifier.command", "array of strings, string", "the program with its arguments, or a text for sh"},
		{"classifier.second", "object", "a second one, asked if the first does not allow; has command, timeout and url"},
		{"classifier.timeout", "seconds", "timeout of an answer (default 5, at most 60)"},
		{"classifier.url", "string", "the URL instead of a program"},
		{"deniedMcpServers", "array", `upstream servers that never run: names, or objects with one of serverName, serverCommand and serverUrl`},
		{"editGuard", `"strict", "default", "off"`, "whether Edit requires that the file was read"},
		{"env.pass", "array of strings", "further environment variables that commands get; * stands for any characters"},
		{"env.scrub", "array of strings", "environment variables that commands do not get"},
		{"features", "object", `switches of tools: true, false, "on" or "off" by name`},
		{"hooks", "object", "programs that run before and after calls: PreToolUse, PostToolUse, PostToolUseFailure"},
		{"hooks.<event>[].hooks[].command", "string", "the shell command"},
		{"hooks.<event>[].hooks[].timeout", "seconds", "timeout of the command"},
		{"hooks.<event>[].hooks[].type", `"command"`, "required"},
		{"hooks.<event>[].matcher", "string", "the tools: names with | between them, or a regular expression; without it all"},
		{"hooksFailClosed", "true, false", "refuse calls whose hook fails"},
		{"mcpServers", "object", "upstream servers by name"},
		{"mcpServers.<name>.args", "array of strings", "arguments of the program"},
		{"mcpServers.<name>.command", "string", "the program"},
		{"mcpServers.<name>.cwd", "string", "the program's working directory"},
		{"mcpServers.<name>.disabled", "true, false", "leave the server out"},
		{"mcpServers.<name>.eager", "true, false", "start the server at once, not when its tools are needed"},
		{"mcpServers.<name>.env", "object", "the program's environment; ${NAME} and ${NAME:-default} are replaced"},
		{"mcpServers.<name>.headers", "object", "headers of requests to the URL"},
		{"mcpServers.<name>.loading", `"deferred", "always"`, "whether its tools are loaded from the start"},
		{"mcpServers.<name>.timeout", "milliseconds", "timeout of a call without a message from the server (default 300000)"},
		{"mcpServers.<name>.type", `"stdio", "http", "streamable-http"`, "the transport; command or url decides without it"},
		{"mcpServers.<name>.url", "string", "the URL of a server over HTTP"},
		{"permissions.additionalDirectories", "array of strings", "further workspace roots; they have to exist"},
		{"permissions.allow", "array of rules", "calls that run without asking"},
		{"permissions.ask", "array of rules", "calls that ask"},
		{"permissions.defaultMode", `"default", "acceptEdits", "manual", "plan", "dontAsk", "bypassPermissions"`, "how to decide calls that no rule covers"},
		{"permissions.deny", "array of rules", "calls that are refused"},
		{"profiles", "object", "subsets of the tools by name, for --profile NAME and /mcp/NAME; a profile only removes"},
		{"profiles.<name>.disallowedTools", "array of strings", "tools that the profile leaves out"},
		{"profiles.<name>.mode", `"plan"`, "the stricter mode of the profile: only calls that read run"},
		{"profiles.<name>.prompt", "string", "added to the instructions for the model; at most 700 bytes"},
		{"profiles.<name>.tools", "array of strings", "the only tools of the profile; without it, all"},
		{"reminder", `true, false, "on", "off", object`, "whether results of Read include the reminder that they are data"},
		{"reminder.exempt", "array of strings", "models that get no reminder; * stands for any characters"},
		{"sandbox.allowRead", "array of strings", "further files and folders that commands may read"},
		{"sandbox.allowWrite", "array of strings", "further folders that commands may read and write"},
		{"sandbox.caches", "true, false", "whether commands may write caches of build tools (default true)"},
		{"sandbox.network", `"ask", "allow", "deny"`, "which hosts commands may reach: those of package managers and rules, and others ask (ask, the default), all, or none"},
		{"taskList", "string", "the list of work that all sessions, and other servers, share under this name; see --task-list"},
		{"undo", "object", "how changes are recorded, so that they can be undone; a project cannot set it"},
		{"undo.destructive", `"ask", "allow"`, "whether commands that only destroy files that could be restored ask (default) or are allowed, as in the mode acceptEdits"},
		{"undo.enabled", "true, false", "whether changes are recorded (default true)"},
		{"undo.quota", "string", "the limit of the stored contents of a workspace, from 16MiB to 1TiB (default 2GiB)"},
		{"upstream.pin", "true, false", "refuse upstream tools whose definition changed since you looked"},
		{"webSearch", "object", "the provider of the tool WebSearch; a project cannot set it"},
		{"webSearch.keyEnv", "string", "the environment variable with its key (default BRAVE_API_KEY, EXA_API_KEY or TAVILY_API_KEY)"},
		{"webSearch.keyFile", "string", "a file with its key instead, which only you can read"},
		{"webSearch.provider", `"brave", "exa", "searxng", "tavily", "mcp"`, "who searches; searxng needs no key, mcp is a tool of an upstream server"},
		{"webSearch.server", "string", "for mcp: the name of the server in mcpServers"},
		{"webSearch.tool", "string", "for mcp: the tool, which gets the query as query"},
		{"webSearch.url", "string", "the base URL of the provider; only searxng has to have one"},
	}
}
