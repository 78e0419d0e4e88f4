package cli

// variable describes an environment variable that the server reads.
type variable struct {
	name, meaning string
	flag          string // flag of which it is the default; "" if there is none
	number        bool   // its value is a number that is no secret
}

// environment holds the variables that the server reads, by name.
var environment = []variable{
	{name: "ANTHROPIC_MODEL", meaning: "default of `--model`", flag: "model"},
	{name: "APPDATA", meaning: "`install` on Windows: the folder that holds files of clients"},
	{name: "BASH_DEFAULT_TIMEOUT_MS", meaning: "timeout of a command in the foreground, in ms (120000)", number: true},
	{name: "BASH_MAX_OUTPUT_LENGTH", meaning: "characters of output that an answer shows in full (30000)", number: true},
	{name: "BASH_MAX_TIMEOUT_MS", meaning: "largest timeout of a command in the foreground, in ms (600000)", number: true},
	{name: "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", meaning: "tokens of one answer of Read, from 250 to 10,000,000 (25000)", number: true},
	{name: "CLAUDE_CODE_GIT_BASH_PATH", meaning: "Windows: the bash that runs commands"},
	{name: "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", meaning: "default of `--max-concurrency`", flag: "max-concurrency"},
	{name: "CLAUDE_CODE_SESSION_ID", meaning: "set by Claude Code: the client defers tools by itself"},
	{name: "CLAUDE_CONFIG_DIR", meaning: "`install`: the folder that holds `.claude.json` of Claude Code (`~`)"},
	{name: "CLAUDE_PROJECT_DIR", meaning: "the workspace root if none is named", flag: "root"},
	{name: "CODEX_HOME", meaning: "`install`: the folder that holds `config.toml` of Codex (`~/.codex`)"},
	{name: "GOMEMLIMIT", meaning: "the soft limit on memory, instead of our own"},
	{name: "LISTEN_FDS", meaning: "`http`: the number of sockets that systemd passes"},
	{name: "LISTEN_PID", meaning: "`http`: the process that they are for"},
	{name: "LOCALAPPDATA", meaning: "Windows: the folder that holds the state folder"},
	{name: "MCP_TIMEOUT", meaning: "timeout of a connection to an upstream server, in ms (30000)", number: true},
	{name: "MCP_TOOLSET_STATE_DIR", meaning: "the state folder"},
	{name: "MCP_TOOLSET_TOKEN", meaning: "the bearer token of `http`"},
	{name: "MCP_TOOL_TIMEOUT", meaning: "timeout of calls of upstream tools, in ms (300000)", number: true},
	{name: "NO_COLOR", meaning: "switches colours off"},
	{name: "TERM", meaning: "`dumb` switches colours off"},
	{name: "XDG_CONFIG_HOME", meaning: "the folder that holds `mcp-toolset/settings.json` (`~/.config`)"},
	{name: "XDG_STATE_HOME", meaning: "the folder that holds the state folder (`~/.local/state`)"},
}
