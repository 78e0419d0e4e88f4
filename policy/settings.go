package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings is what a settings file says, or several do. It is made by
// ParseSettings or Merge and never changes.
type Settings struct {
	source       string    // "" when of several files
	root         string    // the same
	rules        [3][]rule // by Behavior
	directories  []string  // absolute, or begun at ~
	mode         scalar[string]
	features     map[string]feature
	reminder     scalar[bool]
	editGuard    scalar[string]
	exempt       []string // models that get no reminder
	sandbox      sandbox
	scrub, pass  []string // names of environment variables
	hooks        Hooks
	classifier   []Stage
	upstreams    []Upstream // each with a prefix of its own
	denied       []serverEntry
	allowed      scalar[allowedServers]
	pin          scalar[bool]
	loose        []Loose  // what Tightened leaves out
	warnings     []string // of keys
	ruleWarnings []string
	faults       []string // of keys; see Faults
}

// ParseSettings reads settings from the text of a file. source names the file
// in decisions and errors; root is what its /p patterns and relative
// directories begin at. The text is one JSON object:
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
//	    "network": "allow" or "deny"
//	  },
//	  "env": {"scrub": [variable...], "pass": [variable...]},
//	  "hooks": {event: [{"matcher": tools, "hooks": [
//	    {"type": "command", "command": command, "timeout": seconds}
//	  ]}]},
//	  "hooksFailClosed": true or false,
//	  "classifier": {
//	    "command": [program, argument...] or text for sh, or
//	    "url": of this machine,
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
//	  "upstream": {"pin": true or false}
//	}
//
// A folder begins with / or ~, or at the root of the settings; a * in the name
// of a model or variable stands for any text. Events and matchers are explained
// at Event and Hooks.Matching. In what starts a server, ${NAME} and
// ${NAME:-default} stand for variables (Upstream.Expand). A server of a list is a
// name, {"serverName": name}, {"serverUrl": URL}, both with * for any text, or
// {"serverCommand": [program, argument...]}.
//
// Every key may be missing. A key that stands twice or has a value of a wrong
// type is an error with its line and path. A key that is probably a misspelling is
// in Faults. Any other key that is not known, or a rule that is malformed or has no
// effect, is in Warnings.
func ParseSettings(data []byte, source, root string) (*Settings, error) {
	s := &Settings{source: source, root: root, features: map[string]feature{}}
	n, err := readJSON(data)
	if err == nil {
		err = s.read(n)
	}
	if err != nil {
		return nil, fmt.Errorf("parsing settings %s: %w", show(source), err)
	}
	s.judgeRules()
	return s, nil
}

// Warnings says what in the settings is ignored or does something other than
// what it seems to: unknown keys, malformed rules, rules without effect. Each
// is one line with its file and line number, safe to show.
func (s *Settings) Warnings() []string {
	if s == nil {
		return nil
	}
	return slices.Concat(s.warnings, s.ruleWarnings)
}

// warn adds a warning about a key on a line.
func (s *Settings) warn(line int, format string, args ...any) {
	s.warnings = append(s.warnings, origin{s.source, line}.String()+": "+fmt.Sprintf(format, args...))
}

// Features are the switches in features.
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

// FeatureAt is where a switch of Features is written, as FILE:LINE, safe to show.
func (s *Settings) FeatureAt(name string) string { return s.features[name].origin.String() }

// feature is a switch and where it is written.
type feature struct {
	origin
	on bool
}

// AdditionalDirectories are the folders of permissions.additionalDirectories:
// absolute and clean, with ~ as the home folder ($HOME) and relative ones begun
// at the root of their settings. They are not canonical and may not exist. A
// folder that begins at a home folder or root that is not known is left out.
func (s *Settings) AdditionalDirectories() []string {
	if s == nil {
		return nil
	}
	return expand(s.directories)
}

// expand makes folders absolute and clean; one that cannot be is left out.
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
