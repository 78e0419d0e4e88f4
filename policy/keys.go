package policy

import (
	"fmt"
	"slices"
	"strings"
)

// The keys of the settings.
var (
	topKeys        = []string{"$schema", "editGuard", "env", "features", "permissions", "reminder", "sandbox"}
	reminderKeys   = []string{"exempt"}
	permissionKeys = []string{"additionalDirectories", "allow", "ask", "defaultMode", "deny"}
)

// read takes the settings from the JSON of the file.
func (s *Settings) read(n *node) error {
	if n.kind != isObject {
		return n.want("", "an object")
	}
	for _, f := range n.fields {
		var err error
		switch f.key {
		case "permissions":
			err = s.readPermissions(f)
		case "features":
			err = s.readFeatures(f)
		case "reminder":
			err = s.readReminder(f)
		case "editGuard":
			err = s.readEditGuard(f)
		case "sandbox":
			err = s.readSandbox(f)
		case "env":
			err = s.readEnv(f)
		default:
			s.unknown("", f.key, topKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readPermissions(f field) error {
	if f.value.kind != isObject {
		return f.value.want(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		var err error
		switch g.key {
		case Deny.String():
			err = s.readRules(Deny, path, g.value)
		case Ask.String():
			err = s.readRules(Ask, path, g.value)
		case Allow.String():
			err = s.readRules(Allow, path, g.value)
		case "additionalDirectories":
			s.directories, err = s.readDirectories(path, g.value)
		case "defaultMode":
			err = s.readMode(path, g.value)
		default:
			s.unknown(f.key, g.key, permissionKeys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readRules(b Behavior, path string, n *node) error {
	texts, err := n.strings(path)
	if err != nil {
		return err
	}
	rules, warnings := parseRules(b, texts)
	s.rules[b] = rules
	s.warnings = append(s.warnings, warnings...)
	return nil
}

// readDirectories reads a list of folders, as written.
func (s *Settings) readDirectories(path string, n *node) ([]string, error) {
	dirs, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range dirs {
		_, home := homeRelative(dir)
		if dir == "" || strings.ContainsRune(dir, 0) || strings.HasPrefix(dir, "~") && !home {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: %s is not a folder that can be found, ignored", path, show(dir)))
			continue
		}
		out = append(out, dir)
	}
	return out, nil
}

// readMode accepts a mode. Calls are always judged as in the default one, which
// whoever asked for another has to know.
func (s *Settings) readMode(path string, n *node) error {
	if n.kind != isString {
		return n.want(path, "a string")
	}
	if n.text != "default" {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: %s is not applied; calls are judged as in the mode default", path, show(n.text)))
	}
	return nil
}

func (s *Settings) readFeatures(f field) error {
	if f.value.kind != isObject {
		return f.value.want(f.key, "an object")
	}
	for _, g := range f.value.fields {
		switch {
		case g.value.kind == isBool:
			s.features[g.key] = g.value.truth
		case g.value.kind == isString && (g.value.text == "on" || g.value.text == "off"):
			s.features[g.key] = g.value.text == "on"
		default:
			return g.value.want(joinKey(f.key, g.key), `true, false, "on" or "off"`)
		}
	}
	return nil
}

// editGuards are how much must be known of a file before a tool changes it.
var editGuards = []string{"default", "strict", "off"}

func (s *Settings) readEditGuard(f field) error {
	if f.value.kind != isString || !slices.Contains(editGuards, f.value.text) {
		return f.value.want(f.key, `"strict", "default" or "off"`)
	}
	s.editGuard = f.value.text
	return nil
}

// EditGuard is the value of editGuard: "strict", "default" or "off"; "default"
// if the settings, which may be nil, have none.
func (s *Settings) EditGuard() string {
	if s == nil || s.editGuard == "" {
		return editGuards[0]
	}
	return s.editGuard
}

// unknown warns about a key, with the one that was probably meant: the same but
// for upper and lower case, or one that belongs under permissions.
func (s *Settings) unknown(parent, key string, known []string) {
	if slices.Contains(known, key) {
		return // "$schema", for editors
	}
	text := joinKey(parent, key) + ": unknown key, ignored"
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, key) }); i >= 0 {
		text += "; did you mean " + joinKey(parent, known[i]) + "?"
	} else if slices.Contains(permissionKeys, key) {
		text += "; did you mean " + joinKey("permissions", key) + "?"
	}
	s.warnings = append(s.warnings, text)
}
