package assembly

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools/config"
)

// flagKeys maps flags to the keys that they take precedence over.
var flagKeys = map[string]string{"--mode": "permissions.defaultMode", "--task-list": "taskList"}

// configuration returns the settings that hold, for the tool Config: flags and environment
// variables, then those of files.
func (p *Plan) configuration() config.Options {
	var o config.Options
	found := p.found()
	count := map[string]int{}
	for _, l := range p.found().Layers {
		label := l.Name
		if count[label]++; count[label] > 1 {
			label = fmt.Sprint(label, " ", count[label])
		}
		o.Files = append(o.Files, config.File{Label: label, Path: plain.Quote(l.Path), State: l.Standing()})
	}
	all := map[string]*config.Setting{}
	for _, k := range settings.Keys() {
		// Those with free names are settings only if a file has them.
		if k.Name != "$schema" && !strings.ContainsAny(k.Name, "<[") && !slices.Contains([]string{"agents", "classifier", "mcpServers", "hooks", "classifier.second", "webSearch", "models", "models.default", "models.default.price", "models.small", "summarize"}, k.Name) {
			all[k.Name] = &config.Setting{Name: k.Name, Meaning: fmt.Sprintf("%s (%s)", k.Meaning, k.Value)}
		}
	}
	// A key that needs a new start has the values of the start.
	follows := p.Settings.Following(found.Merged)
	entries := slices.DeleteFunc(p.Settings.Entries(), func(e settings.Entry) bool { return follows(e.Key) })
	entries = append(entries, slices.DeleteFunc(found.Merged.Entries(), func(e settings.Entry) bool { return !follows(e.Key) })...)
	for _, e := range entries {
		if strings.HasPrefix(e.Key, "features.") {
			delete(all, "features") // its members are set
		}
		s := all[e.Key]
		if s == nil {
			s = &config.Setting{Name: e.Key, Meaning: e.Meaning}
			all[e.Key] = s
		}
		v := config.Value{Text: e.Value, Source: e.Origin.String(), Why: e.Unused}
		if json.Valid([]byte(v.Text)) {
			v.Text = string(audit.Redact([]byte(v.Text)))
		}
		if e.Unused == "" {
			s.Values = append(s.Values, v)
		} else {
			s.Unused = append(s.Unused, v)
		}
	}
	flags := slices.Clone(p.options.Flags)
	for i, f := range flags {
		key := all[flagKeys[f.Name]]
		switch {
		case key == nil:
			continue
		case len(f.Values) > 0: // the flag takes precedence
			for _, v := range key.Values {
				v.Why = "the flag " + f.Name + " overrides it"
				key.Unused = append(key.Unused, v)
			}
			key.Values = f.Values
		default:
			flags[i].Values, flags[i].Unused = key.Values, key.Unused
			flags[i].Change = strings.TrimSuffix(f.Change, ".") + ", or sets " + key.Name + " in a settings file."
		}
	}
	for _, s := range all {
		s.Change = p.change(*s)
		o.Settings = append(o.Settings, *s)
	}
	slices.SortFunc(o.Settings, func(a, b config.Setting) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), strings.Compare(a.Name, b.Name))
	})
	o.Settings = append(flags, o.Settings...)
	return o
}

// rank returns the place of a key in a list that may be cut: programs have many keys and are last.
func rank(name string) int {
	top, _, _ := strings.Cut(name, ".")
	return slices.Index([]string{"classifier", "hooks", "mcpServers"}, top)
}

// change returns a sentence on how the user changes a key of the settings files.
func (p *Plan) change(s config.Setting) string {
	if len(s.Values) > 0 && s.Values[0].Source == config.FromFlag {
		for flag, key := range flagKeys {
			if key == s.Name {
				return "To change it, the user starts the server with another " + flag + ", or without it."
			}
		}
	}
	file := p.AddTo
	for _, l := range p.found().Layers {
		in := func(v config.Value) bool { return strings.HasPrefix(v.Source, plain.Quote(l.Path)+":") }
		switch {
		case slices.ContainsFunc(s.Unused, in) && !l.Trusted && l.Name == settings.Project:
			return fmt.Sprintf("To use that of the project, the user runs %s%s.", l.TrustCommand(), again(s.Name))
		case len(s.Values) > 0 && in(s.Values[0]) && l.Name == settings.Managed:
			return fmt.Sprintf("To change it, the administrator edits %s%s.", plain.Text(l.Path), again(s.Name))
		case len(s.Values) > 0 && in(s.Values[0]):
			file = l.Path
		}
	}
	if file == "" {
		return "To change it, the user names a settings file with --settings."
	}
	return fmt.Sprintf("To change it, the user edits %s in %s%s; mcp-toolset policy check shows mistakes.", s.Name, plain.Text(file), again(s.Name))
}

// again returns what follows a change of a key, as the end of a sentence.
func again(key string) string {
	if settings.Live(key) {
		return ", which holds with the next call"
	}
	return " and restarts the server"
}
