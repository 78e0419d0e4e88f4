package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// permissionsKey is the key that holds the rules.
const permissionsKey = "permissions"

// Known keys of the settings.
var (
	topKeys        = []string{"$schema", "agents", "allowedMcpServers", "classifier", "deniedMcpServers", "diagnostics", "editGuard", "env", "features", "hooks", "hooksFailClosed", "lspServers", "mcpServers", "models", "permissions", "profiles", "reminder", "sandbox", "summarize", "taskList", "undo", "upstream", "webSearch", "worktreeFolder"}
	reminderKeys   = []string{"exempt"}
	permissionKeys = []string{"additionalDirectories", "allow", "ask", "defaultMode", "deny"}
)

// read reads the settings from the JSON of the file.
func (s *Settings) read(n *node) error {
	if n.kind != isObject {
		return n.typeError("", "an object")
	}
	for _, f := range n.fields {
		var err error
		s.noteTop(f)
		switch f.key {
		case permissionsKey:
			err = s.readPermissions(f)
		case "features":
			err = s.readFeatures(f)
		case "reminder":
			err = s.readReminder(f)
		case "editGuard":
			err = s.readEditGuard(f)
		case "classifier":
			s.classifier, err = s.readClassifier(f.key, f.value, true)
		case "sandbox":
			err = s.readSandbox(f)
		case "env":
			err = s.readEnv(f)
		case "hooks":
			err = s.readHooks(f)
		case "hooksFailClosed":
			s.failClosed, err = f.value.bool(f.key)
		case serversKey:
			err = s.readServers(f)
		case deniedServersKey:
			err = s.readDenied(f)
		case allowedServersKey:
			err = s.readAllowed(f)
		case "taskList":
			err = s.readTaskList(f)
		case "worktreeFolder":
			err = s.readWorktreeFolder(f)
		case profilesKey:
			err = s.readProfiles(f)
		case "upstream":
			err = s.readUpstream(f)
		case agentsKey:
			err = s.readAgents(f)
		case modelsKey:
			err = s.readModels(f)
		case summarizeKey:
			err = s.readSummarize(f)
		case undoKey:
			err = s.readUndo(f)
		case webSearchKey:
			err = s.readWebSearch(f)
		case languageServersKey:
			err = s.readLanguageServers(f)
		case diagnosticsKey:
			err = s.readDiagnostics(f)
		default:
			s.unknownTop(f)
		}
		if err != nil {
			return err
		}
		if slices.Contains(topKeys, f.key) && f.key != "$schema" {
			s.enter(f.key, f.key, "", f.line, f.value)
		}
	}
	return nil
}

func (s *Settings) readPermissions(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		if g.key != policy.Deny.String() && g.key != policy.Ask.String() && slices.Contains(permissionKeys, g.key) {
			s.note(path, g.value)
		}
		switch g.key {
		case policy.Deny.String():
			err = s.readRules(policy.Deny, path, g.value)
		case policy.Ask.String():
			err = s.readRules(policy.Ask, path, g.value)
		case policy.Allow.String():
			err = s.readRules(policy.Allow, path, g.value)
		case "additionalDirectories":
			s.directories, err = s.readDirectories(path, g.value)
		case "defaultMode":
			err = s.readMode(path, g.value)
		default:
			s.unknownBelow(g.line, f.key, g.key, permissionKeys, claudePermissionKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readRules(b policy.Behavior, path string, n *node) error {
	texts, err := n.strings(path)
	if err != nil {
		return err
	}
	for i, text := range texts {
		s.rules.Add(b, text, s.at(n.items[i].line), s.root)
	}
	return nil
}

// readDirectories reads a list of folders. It resolves relative ones against the root
// of the settings. If the root is unknown they stay relative, and expand leaves them
// out.
func (s *Settings) readDirectories(path string, n *node) ([]string, error) {
	dirs, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, dir := range dirs {
		_, home := homeRelative(dir)
		if dir == "" || strings.ContainsRune(dir, 0) || strings.HasPrefix(dir, "~") && !home {
			s.warn(n.items[i].line, "%s: %s is not a folder that can be found, ignored", path, plain.Quote(dir))
			continue
		}
		if !home && !filepath.IsAbs(dir) {
			dir = filepath.Join(s.root, dir)
		}
		out = append(out, dir)
		s.folderLines = append(s.folderLines, n.items[i].line)
	}
	return out, nil
}

func (s *Settings) readMode(path string, n *node) error {
	if n.kind != isString || !slices.Contains(policy.Modes, n.text) {
		err := n.typeError(path, `"default", "acceptEdits", "manual", "plan", "dontAsk" or "bypassPermissions"`)
		if near := nearest.Names(n.text, policy.Modes, 1); n.kind == isString && len(near) == 1 {
			err = fmt.Errorf("%w; did you mean %s?", err, near[0])
		}
		return err
	}
	s.mode = scalarOf(n.text)
	return nil
}

// Mode returns the value of permissions.defaultMode, which is the name of a policy.Mode. It
// returns "" if s is nil or has no such value.
func (s *Settings) Mode() string {
	if s == nil {
		return ""
	}
	return s.mode.value
}

func (s *Settings) readFeatures(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		switch {
		case g.value.kind == isBool:
			s.features[g.key] = feature{s.at(g.line), g.value.truth}
		case g.value.kind == isString && (g.value.text == "on" || g.value.text == "off"):
			s.features[g.key] = feature{s.at(g.line), g.value.text == "on"}
		default:
			return g.value.typeError(joinKey(f.key, g.key), `true, false, "on" or "off"`)
		}
	}
	return nil
}

// editGuards lists the values of editGuard, the default first.
var editGuards = []string{"default", "strict", "off"}

func (s *Settings) readEditGuard(f field) error {
	if f.value.kind != isString || !slices.Contains(editGuards, f.value.text) {
		return f.value.typeError(f.key, `"strict", "default" or "off"`)
	}
	s.editGuard = scalarOf(f.value.text)
	return nil
}

// EditGuard returns the value of editGuard: "strict", "default" or "off". It returns
// "default" if s is nil or has no such value.
func (s *Settings) EditGuard() string {
	if s == nil {
		return editGuards[0]
	}
	return s.editGuard.or(editGuards[0])
}

func (s *Settings) readTaskList(f field) error {
	if f.value.kind != isString || !worklist.ValidName(f.value.text) {
		return f.value.typeError(f.key, "a name of "+worklist.NameRule)
	}
	s.taskList = scalarOf(f.value.text)
	return nil
}

// TaskList returns the value of taskList: the name of a shared list of work. It returns ""
// if s is nil or has no such value.
func (s *Settings) TaskList() string {
	if s == nil {
		return ""
	}
	return s.taskList.value
}

func (s *Settings) readWorktreeFolder(f field) error {
	if f.value.kind != isString || f.value.text == "" || strings.ContainsRune(f.value.text, 0) {
		return f.value.typeError(f.key, "a folder")
	}
	s.worktrees = scalarOf(f.value.text)
	return nil
}

// WorktreeFolder returns the value of worktreeFolder, as written; "" if s is nil or has no such
// value.
func (s *Settings) WorktreeFolder() string {
	if s == nil {
		return ""
	}
	return s.worktrees.value
}

// unknown warns about an unknown key. It suggests a known key that differs only in
// case.
func (s *Settings) unknown(parent string, f field, known []string) {
	text := joinKey(parent, f.key) + ": unknown key, ignored"
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, f.key) }); i >= 0 {
		text += "; did you mean " + joinKey(parent, known[i]) + "?"
	}
	s.warn(f.line, "%s", text)
}
