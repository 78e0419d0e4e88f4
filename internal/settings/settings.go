// Package settings parses, merges, explains and trusts settings. It finds the settings
// files of the machine, the command line, the project and the user, reads each with
// checks that depend on its place, and merges them. Entries of a project's file that
// could make decisions less strict apply only if the user trusts the project (see
// trust.go). The package makes the rules, hooks and classifier stages that other
// packages receive; it decides nothing about calls and writes no settings files.
//
// Files in the roots that the commands of hooks, of the classifier and of upstream
// servers name are closed to changes (programs.go), because these programs run outside
// of the sandbox.
package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/models"
	"mcp-toolset/policy"
)

// Settings holds the content of one or more settings files. Parse and Merge
// make it. It is immutable.
type Settings struct {
	source       string // settings file; "" if there are several
	root         string // folder of relative paths; "" if there are several files
	rules        policy.Rules
	directories  []string // absolute, or relative to ~ or an unknown root
	folderLines  []int    // of directories; empty if there are several files
	mode         scalar[string]
	features     map[string]feature
	reminder     scalar[bool]
	editGuard    scalar[string]
	exempt       []string // patterns of models that get no reminder
	sandbox      sandbox
	scrub, pass  []string // names or patterns of environment variables
	hooks        hook.Hooks
	failClosed   bool // see HooksFailClosed
	classifier   []classifier.Stage
	webSearch    *WebSearch
	languages    []languageServer // no two have the same name
	diagnostics  scalar[time.Duration]
	models       *models.Config
	agents       []AgentProgram // nil: not set
	summarize    *Summarize
	undo         undo
	upstreams    []Upstream // no two have the same prefix
	denied       []serverEntry
	allowed      scalar[allowedServers]
	pin          scalar[bool]
	taskList     scalar[string]
	worktrees    scalar[string]
	profiles     []Profile
	entries      []Entry     // see Entries
	loosenings   []Loosening // the entries that Tightened leaves out
	warnings     []string    // about keys
	ruleWarnings []string
	faults       []string // about keys; see Faults
	missing      []string // about additional directories; see Faults
}

// Parse parses the text of a settings file. source is the name of the file in
// decisions and errors. root is the folder at which /p patterns and relative
// directories begin. The text is one JSON object:
//
//	{
//	  "permissions": {
//	    "allow": [rule...], "ask": [rule...], "deny": [rule...],
//	    "additionalDirectories": [folder...],
//	    "defaultMode": "default", "acceptEdits", "manual", "plan", "dontAsk" or "bypassPermissions"
//	  },
//	  "features": {name: true, false, "on" or "off"},
//	  "editGuard": "strict", "default" or "off",
//	  "reminder": true, false, "on", "off" or {"exempt": [model...]},
//	  "sandbox": {
//	    "allowRead": [path...],
//	    "allowWrite": [folder...],
//	    "caches": true or false,
//	    "network": "ask", "allow" or "deny",
//	    "publish": "ask", port, "first-last" or [of these...]
//	  },
//	  "env": {"scrub": [variable...], "pass": [variable...]},
//	  "hooks": {event: [{"matcher": tools, "hooks": [
//	    {"type": "command", "command": command, "timeout": seconds}
//	  ]}]},
//	  "hooksFailClosed": true or false,
//	  "classifier": {
//	    "command": [program, argument...] or text for sh, or
//	    "url": of this machine, or
//	    "model": "default" or "small",
//	    "timeout": seconds,
//	    "second": {the same but second}
//	  },
//	  "mcpServers": {name: {
//	    "command": program, "args": [argument...], "env": {variable: value}, "cwd": folder, or
//	    "url": of any machine, "headers": {header: value},
//	    "type": "stdio", "http" or "streamable-http", may be missing,
//	    "eager": true or false, "disabled": true or false,
//	    "loading": "deferred" or "always",
//	    "timeout": milliseconds
//	  }},
//	  "deniedMcpServers": [server...], "allowedMcpServers": [server...],
//	  "upstream": {"pin": true or false},
//	  "taskList": name,
//	  "diagnostics": "on", "off" or a number of seconds,
//	  "lspServers": {name: {
//	    "command": program, "args": [argument...], "env": {variable: value},
//	    "extensionToLanguage": {extension: language}, "files": {pattern: language},
//	    "rootMarkers": [name...], "initializationOptions": any, "settings": any,
//	    "start": true or false, "disabled": true or false
//	  }},
//	  "worktreeFolder": folder,
//	  "undo": {"enabled": true or false, "quota": size, "destructive": "ask" or "allow"},
//	  "profiles": {name: {
//	    "tools": [tool...], "disallowedTools": [tool...], "mode": "plan", "prompt": text
//	  }},
//	  "webSearch": {
//	    "provider": "brave", "exa", "searxng" or "tavily", "url": base URL,
//	    "keyEnv": variable, or "keyFile": file, or
//	    "provider": "mcp", "server": name, "tool": name
//	  },
//	  "agents": {name: {"command": [program, argument...], "protocol": "text" or "acp", "contained": true or false}},
//	  "models": {
//	    "default": {
//	      "provider": "anthropic" or "openai", "url": base URL, "model": name,
//	      "keyEnv": variable, or "keyFile": file, or
//	      "provider": "command", "command": [program, argument...] or text for sh,
//	      "maxTokens": number, "timeout": seconds,
//	      "price": {"input": number, "output": number, "cacheRead": number, "cacheWrite": number}
//	    },
//	    "small": {the same},
//	    "maxTokensPerSession": number, "maxCost": number, "maxCostPerDay": number
//	  },
//	  "summarize": {"over": characters, "tools": [tool...]}
//	}
//
// A folder begins with / or ~, or is relative to the root of the settings. In the name
// of a model or variable, * matches any text. hook.Event and hook.Hooks.Matching
// describe events and matchers. In the settings that start a server, ${NAME} and ${NAME:-default} are
// replaced by variables (see Upstream.Expand). A server in a list is a name,
// {"serverName": name}, {"serverUrl": URL}, both with * for any text, or
// {"serverCommand": [program, argument...]}.
//
// All keys are optional. A duplicate key or a value of a wrong type is an error with
// its line and path. Faults reports keys that are probably misspelled. Warnings
// reports other unknown keys and rules that are malformed or have no effect.
func Parse(data []byte, source, root string) (*Settings, error) {
	s := &Settings{source: source, root: root, features: map[string]feature{}}
	n, err := readJSON(data)
	if err == nil {
		err = s.read(n)
	}
	if err != nil {
		return nil, fmt.Errorf("parsing settings %s: %w", plain.Quote(source), err)
	}
	s.ruleWarnings = s.rules.Warnings()
	return s, nil
}

// Warnings describes entries of the settings that are ignored or do something other
// than they seem to: unknown keys, malformed rules, rules without effect. Each warning
// is one line with its file and line number, safe to show.
func (s *Settings) Warnings() []string {
	if s == nil {
		return nil
	}
	return slices.Concat(s.warnings, s.ruleWarnings)
}

// at returns the origin of a line.
func (s *Settings) at(line int) policy.Origin { return policy.Origin{Source: s.source, Line: line} }

// warn adds a warning about a line.
func (s *Settings) warn(line int, format string, args ...any) {
	s.warnings = append(s.warnings, s.at(line).String()+": "+fmt.Sprintf(format, args...))
}

// Rules returns the rules of the settings.
func (s *Settings) Rules() policy.Rules {
	if s == nil {
		return policy.Rules{}
	}
	return s.rules
}

// Hooks returns the hooks of the settings, or nil if s is nil.
func (s *Settings) Hooks() *hook.Hooks {
	if s == nil {
		return nil
	}
	return &s.hooks
}

// HooksFailClosed returns the value of hooksFailClosed: whether a PreToolUse hook that
// fails or times out denies the call. It is true if one of several files sets it.
func (s *Settings) HooksFailClosed() bool { return s != nil && s.failClosed }

// Source returns the settings file, or "" if there is none or several.
func (s *Settings) Source() string {
	if s == nil {
		return ""
	}
	return s.source
}

// Features returns the switches of features by name.
func (s *Settings) Features() map[string]bool {
	if s == nil {
		return nil
	}
	out := map[string]bool{}
	for name, f := range s.features {
		out[name] = f.on
	}
	return out
}

// FeatureAt returns the place of a switch of Features as FILE:LINE, safe to show.
func (s *Settings) FeatureAt(name string) string { return s.features[name].Origin.String() }

// feature is a switch and its place in the settings.
type feature struct {
	policy.Origin
	on bool
}

// AdditionalDirectories returns the folders of permissions.additionalDirectories. They
// are absolute and clean: ~ is replaced by the home folder ($HOME), and relative ones
// are joined with the root of their settings. They are not canonical and may not
// exist. A folder relative to an unknown home folder or root is left out.
func (s *Settings) AdditionalDirectories() []string {
	if s == nil {
		return nil
	}
	return expand(s.directories)
}

// expand makes folders absolute and clean. It leaves out those it cannot make
// absolute.
func expand(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if rest, ok := homeRelative(dir); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			dir = filepath.Join(home, rest)
		}
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

func homeRelative(dir string) (rest string, ok bool) {
	if dir == "~" {
		return "", true
	}
	return strings.CutPrefix(dir, "~/")
}
