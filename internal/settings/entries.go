package settings

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/policy"
)

// Why an Entry has no effect.
const (
	entryOverridden = "a more authoritative file overrides it"
	entryUntrusted  = "the project is not trusted"
)

// Entry is one value in a settings file, for those who want to know what holds and why.
type Entry struct {
	policy.Origin
	Key     string // such as "permissions.deny"; a list has an entry for each of its items
	Meaning string // of the key
	Value   string // in one line, safe to show; "" if it may hold a secret
	Unused  string // why it has no effect; "" if it has one

	unit string // see unit
	raw  string // hash of the value, which may be a secret
}

// Entries returns the values of known keys, the most authoritative first. It returns nil if s
// is nil.
func (s *Settings) Entries() []Entry {
	if s == nil {
		return nil
	}
	return slices.Clone(s.entries)
}

// secretKeys lists the keys whose values often hold secrets: commands with their arguments,
// URLs and environments.
var secretKeys = []string{
	"agents.<name>.command", "classifier.command", "classifier.url", "models.default.command", "lspServers.<name>.args", "lspServers.<name>.env", "mcpServers.<name>.args", "mcpServers.<name>.env", "mcpServers.<name>.headers", "mcpServers.<name>.url",
}

// enter records the values of a key. known is the key as Keys names it, and server the one of
// mcpServers, or of profiles, that it belongs to, if any.
func (s *Settings) enter(known, key, server string, line int, n *node) {
	e := Entry{Key: key, Meaning: meaning(known), unit: unit(known, server)}
	if known == "features" {
		e.unit = key
	}
	add := func(line int, value, whole string) {
		if e.Meaning == "" { // an unknown key
			return
		}
		e.raw = rawHash(whole)
		if slices.Contains(secretKeys, known) {
			value = ""
		}
		e.Origin, e.Value = s.at(line), value
		s.entries = append(s.entries, e)
	}
	switch {
	case known == "hooks.<event>":
		for _, group := range n.items {
			add(group.line, group.hooks(), group.json())
		}
	case n.kind == isArray && len(n.items) > 0:
		for _, item := range n.items {
			value := item.json()
			shown := value
			if strings.Contains(value, `"serverCommand"`) || strings.Contains(value, `"serverUrl"`) {
				shown = ""
			}
			add(item.line, shown, value)
		}
	case known == "lspServers.<name>.initializationOptions" || known == "lspServers.<name>.settings":
		add(line, n.json(), n.json())
	case n.kind == isObject && (known == "lspServers.<name>.env" || known == "mcpServers.<name>.env" || known == "mcpServers.<name>.headers"):
		for _, f := range n.fields {
			e.Origin, e.Value, e.raw = s.at(f.line), strconv.Quote(f.key)+", value not shown", rawHash(f.key+"="+f.value.json())
			s.entries = append(s.entries, e)
		}
	case n.kind == isObject:
		for _, f := range n.fields {
			if known == serversKey || known == languageServersKey || known == profilesKey || known == agentsKey {
				server = f.key
			}
			s.enter(knownBelow(known, f.key), joinKey(key, f.key), server, f.line, f.value)
		}
	default:
		add(line, n.json(), n.json())
	}
}

func rawHash(value string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(value))) }

// meaning returns the meaning of a key as Keys names it, or "" if it is unknown.
func meaning(known string) string {
	if known == "hooks.<event>" {
		known = "hooks"
	}
	for _, k := range Keys() {
		if k.Name == known {
			return k.Meaning
		}
	}
	return ""
}

// knownBelow returns the name in Keys of a key below known.
func knownBelow(known, key string) string {
	switch known {
	case serversKey, languageServersKey, profilesKey, agentsKey:
		return known + ".<name>"
	case "features", "lspServers.<name>.extensionToLanguage", "lspServers.<name>.files":
		return known // its keys are free names
	case "hooks":
		return "hooks.<event>"
	case "classifier.second":
		known = "classifier"
	case "models.small":
		known = "models.default"
	}
	return known + "." + key
}

// hooks describes a matcher and its hooks, without their commands.
func (n *node) hooks() string {
	tools, commands := "all tools", 0
	for _, f := range n.fields {
		if f.key == "matcher" && f.value.text != "" {
			tools = strconv.Quote(f.value.text)
		}
		if f.key == "hooks" {
			commands = len(f.value.items)
		}
	}
	if commands == 1 {
		return tools + ": 1 command, not shown"
	}
	return fmt.Sprintf("%s: %d commands, not shown", tools, commands)
}

// unit returns what a file replaces as a whole if it sets the key, or "" if the lists of all
// files hold together.
func unit(key, server string) string {
	top, below, _ := strings.Cut(key, ".")
	switch {
	case top == serversKey:
		return top + "." + policy.ServerPrefix(server)
	case top == languageServersKey || top == profilesKey:
		return top + "." + server
	case top == "classifier", top == allowedServersKey, slices.Contains(usersOnly, top):
		return top
	case top == "env", top == "hooks", top == deniedServersKey, top == permissionsKey && below != "defaultMode", strings.HasPrefix(key, "sandbox.allow"), key == "reminder.exempt":
		return ""
	}
	return key
}

// addEntries adds the entries of less authoritative settings.
func (s *Settings) addEntries(less []Entry) {
	mine := len(s.entries)
	for _, e := range less {
		for i := range s.entries[:mine] {
			first := &s.entries[i]
			if e.unit == "" || e.unit != first.unit || first.Unused != "" || e.Unused != "" {
				continue
			}
			if e.Key == "hooksFailClosed" && e.Value == "true" && first.Value != "true" { // true in any file holds
				first.Unused = "another file sets true"
				continue
			}
			e.Unused = entryOverridden
		}
		s.entries = append(s.entries, e)
	}
}

// tightenedEntries returns the entries of a project that is not trusted.
func (s *Settings) tightenedEntries() []Entry {
	all := slices.Clone(s.entries)
	for i, e := range all {
		switch e.Key {
		case "permissions.deny", "permissions.ask", deniedServersKey:
		case "upstream.pin":
			if e.Value == "true" {
				continue
			}
			fallthrough
		default:
			all[i].Unused = cmp.Or(e.Unused, entryUntrusted)
		}
	}
	return all
}
