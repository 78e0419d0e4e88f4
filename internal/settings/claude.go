package settings

// Names in Claude Code's settings that have no meaning here. Users reuse its files, so
// they need special treatment. The sources are its settings reference
// (https://code.claude.com/docs/en/settings-reference), its hooks reference
// (.../hooks) and its JSON schema
// (https://json.schemastore.org/claude-code-settings.json), as of July 2026. The lists
// also contain names that Claude Code no longer uses.

// claudeTopKeys lists the top-level keys of Claude Code that could be taken for
// misspelled keys of ours, and similar ones. Other keys need no entry: an unknown key
// that resembles no known key only causes a warning.
var claudeTopKeys = []string{
	"agent", "allowAllClaudeAiMcps", "allowedChannelPlugins", "allowedHttpHookUrls", "allowManagedHooksOnly",
	"allowManagedMcpServersOnly", "allowManagedPermissionRulesOnly", "apiKeyHelper", "attribution", "autoMode",
	"availableModels", "blockedMarketplaces", "claudeMd", "cleanupPeriodDays", "deniedModels",
	"disableAllHooks", "disabledMcpjsonServers", "editorMode", "effortLevel", "enableAllProjectMcpServers",
	"enabledMcpjsonServers", "enabledPlugins", "fallbackModel", "fileSuggestion", "httpHookAllowedEnvVars", "language",
	"managedMcpServers", "model", "modelOverrides", "outputStyle", "plansDirectory", "skipAutoPermissionPrompt",
	"skipDangerousModePermissionPrompt", "statusLine", "theme", "tui", "voice", "worktree",
}

// claudePermissionKeys lists Claude Code's keys below permissions.
var claudePermissionKeys = []string{
	"disableAutoMode", "disableBypassPermissionsMode", "skipAutoPermissionPrompt", "skipDangerousModePermissionPrompt",
}

// claudeSandboxKeys lists Claude Code's keys below sandbox.
var claudeSandboxKeys = []string{
	"allowAppleEvents", "allowUnsandboxedCommands", "autoAllowBashIfSandboxed", "bwrapPath", "credentials",
	"disabled", "enableWeakerNestedSandbox", "enableWeakerNetworkIsolation", "enabled", "enabledPlatforms",
	"excludedCommands", "failIfUnavailable", "filesystem", "ignoreViolations", "ripgrep", "socatPath",
}

// claudeEvents lists Claude Code's hook events that never occur here.
var claudeEvents = []string{
	"ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged", "InstructionsLoaded",
	"MessageDisplay", "Notification", "PermissionDenied", "PermissionRequest", "PostCompact", "PostModelSwitch",
	"PostToolBatch", "PreCompact", "PreModelSwitch", "SessionEnd", "SessionStart", "Setup", "Stop", "StopFailure",
	"SubagentStart", "SubagentStop", "TaskCompleted", "TaskCreated", "TeammateIdle", "UserPromptExpansion",
	"UserPromptSubmit", "WorktreeCreate", "WorktreeRemove",
}

// claudeHookKeys lists Claude Code's keys of a hook.
var claudeHookKeys = []string{
	"allowedEnvVars", "args", "async", "asyncRewake", "continueOnBlock", "headers", "if", "input", "model", "once",
	"prompt", "server", "shell", "statusMessage", "tool", "url",
}
