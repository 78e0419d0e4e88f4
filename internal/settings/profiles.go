package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// profilesKey is the key of the subsets of tools.
const profilesKey = "profiles"

var profileKeys = []string{"disallowedTools", "mode", "prompt", "tools"}

// MaxProfilePrompt is the limit of the prompt of a profile, in bytes: it is a part of the
// instructions, of which clients show 2,048 bytes.
const MaxProfilePrompt = 700

// Profile is a subset of the tools, with a mode and a text for the model.
type Profile struct {
	policy.Origin
	Name            string
	Tools           []string // nil: all
	DisallowedTools []string
	Mode            string // "plan" or ""
	Prompt          string

	lines map[string]int // of the names of tools
}

var (
	profileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	toolName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_*-]*$`)
)

func (s *Settings) readProfiles(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		if len(g.key) > 64 || !profileName.MatchString(g.key) {
			return fmt.Errorf("line %d: %s: a name has 1 to 64 small letters, digits and single hyphens", g.line, path)
		}
		if g.value.kind != isObject {
			return g.value.typeError(path, "an object")
		}
		p := Profile{Origin: s.at(g.line), Name: g.key, lines: map[string]int{}}
		for _, h := range g.value.fields {
			at := joinKey(path, h.key)
			var err error
			switch h.key {
			case "tools":
				p.Tools, err = p.readTools(at, h.value)
			case "disallowedTools":
				p.DisallowedTools, err = p.readTools(at, h.value)
			case "mode":
				if p.Mode = h.value.text; h.value.kind != isString || p.Mode != string(policy.ModePlan) {
					err = h.value.typeError(at, `"plan": a profile can only make the mode stricter`)
				}
			case "prompt":
				if p.Prompt, err = h.value.string(at); err == nil && len(p.Prompt) > MaxProfilePrompt {
					err = fmt.Errorf("line %d: %s: it has %d bytes and may have %d", h.value.line, at, len(p.Prompt), MaxProfilePrompt)
				}
			default:
				s.fault(h.line, path, h.key, "key", profileKeys, nil)
			}
			if err != nil {
				return err
			}
		}
		s.profiles = append(s.profiles, p)
	}
	return nil
}

// readTools reads names of tools. In names of upstream tools, * stands for any text.
func (p *Profile) readTools(path string, n *node) ([]string, error) {
	names, err := n.strings(path)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if !toolName.MatchString(name) || strings.Contains(name, "*") && !strings.HasPrefix(name, "mcp__") {
			return nil, fmt.Errorf("line %d: %s: %s is not the name of a tool; rules belong to permissions.deny", n.items[i].line, path, plain.Quote(name))
		}
		p.lines[name] = n.items[i].line
	}
	if names == nil {
		names = []string{} // none, not all
	}
	return names, nil
}

// Profiles returns the profiles of the settings, the most authoritative first, each name once.
func (s *Settings) Profiles() []Profile {
	if s == nil {
		return nil
	}
	return slices.Clone(s.profiles)
}

// addProfiles adds the profiles of less authoritative settings.
func (s *Settings) addProfiles(less []Profile) {
	for _, p := range less {
		if !slices.ContainsFunc(s.profiles, func(o Profile) bool { return o.Name == p.Name }) {
			s.profiles = append(s.profiles, p)
		}
	}
}

// profileFaults returns the names in profiles that no tool has. With a misspelled name a profile
// would offer a tool that it is to leave out.
func (s *Settings) profileFaults(tools []string) []string {
	var out []string
	for _, p := range s.profiles {
		for _, name := range slices.Concat(p.Tools, p.DisallowedTools) {
			if len(tools) == 0 || slices.Contains(tools, name) || strings.HasPrefix(name, "mcp__") {
				continue
			}
			text := fmt.Sprintf("%s: %s: there is no tool %s", policy.Origin{Source: p.Source, Line: p.lines[name]}, joinKey(profilesKey, p.Name), plain.Key(name))
			if near := nearest.Names(name, tools, 1); len(near) == 1 {
				text += "; did you mean " + near[0] + "?"
			}
			out = append(out, text)
		}
	}
	return out
}
