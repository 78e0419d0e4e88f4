package front

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mcp-toolset/internal/identity"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/policy"
)

// MaxRules is the limit of a file of rules, in bytes.
const MaxRules = 1 << 20

// Rules decide which workspace a principal has.
type Rules struct {
	Base  string // folder that holds all workspaces, canonical
	rules []rule
}

// rule is one rule of the file. The first that fits a principal decides.
type rule struct {
	When      when     `json:"when"`
	Workspace string   `json:"workspace"`
	Roots     []string `json:"roots"`
	Settings  string   `json:"settings"`
	Mode      string   `json:"mode"`
	User      string   `json:"user"`
	Limits    Limits   `json:"limits"`
}

// when lists conditions, all of which must hold. Those that are empty hold for everybody.
type when struct {
	ID     string `json:"id"`
	Name   string `json:"name"` // of a named token: other names are what their owners chose
	Issuer string `json:"issuer"`
	Group  string `json:"group"`
}

// Limits are the limits of a workspace. 0 means the usual limit of a server, or none.
type Limits struct {
	RequestsPerMinute int     `json:"requestsPerMinute,omitempty"` // of one principal
	Calls             int     `json:"calls,omitempty"`             // of one principal, in progress
	Sessions          int     `json:"sessions,omitempty"`          // of one principal
	Commands          int     `json:"commands,omitempty"`          // of one principal
	Tasks             int     `json:"tasks,omitempty"`             // of one principal
	OutputMB          int     `json:"outputMB,omitempty"`
	MemoryMB          int     `json:"memoryMB,omitempty"`
	CPU               float64 `json:"cpu,omitempty"`
}

// Spec describes the process of a workspace. Paths are absolute.
type Spec struct {
	Name     string
	Folder   string // holds all of the workspace but Temp
	Roots    []string
	Home     string
	State    string
	Temp     string
	Settings string // "": none
	Mode     string // "": that of the settings
	User     string // OS user; "": that of the front
	Limits   Limits

	template string // of the name
}

// The placeholders.
const inBase, inWorkspace, inPrincipal = "{base}", "{workspace}", "{principal}"

var (
	validName     = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)
	validTemplate = regexp.MustCompile(`^[a-z0-9-]*(\{principal\})?[a-z0-9-]*$`)
	placeholder   = regexp.MustCompile(`\{[^}]*\}?`)
)

// maxBase is the limit of the length of base: sockets in the folder for temporary files below it
// have paths of at most 108 bytes.
const maxBase = 30

// ParseRules parses a file of rules. Errors name the line.
func ParseRules(file string, text []byte) (*Rules, error) {
	fail := func(offset int, format string, args ...any) error {
		return fmt.Errorf("line %d of %s: %s", 1+bytes.Count(text[:offset], []byte("\n")), plain.Line(file), fmt.Sprintf(format, args...))
	}
	if err := strictjson.Check(text, 16); err != nil {
		line := 1
		if e, ok := errors.AsType[*strictjson.Error](err); ok {
			line = e.Line
		}
		return nil, fmt.Errorf("line %d of %s: %s", line, plain.Line(file), strictjson.Describe(err, "the file"))
	}
	var top struct {
		Version int               `json:"version"`
		Base    string            `json:"base"`
		Rules   []json.RawMessage `json:"rules"`
	}
	if offset, err := decode(text, &top, map[string][]string{"version": nil, "base": nil, "rules": nil}); err != nil {
		return nil, fail(offset, "%v", err)
	}
	r := &Rules{Base: top.Base}
	switch {
	case top.Version != 1:
		return nil, fail(0, "version is %d; this program knows 1", top.Version)
	case !filepath.IsAbs(r.Base) || filepath.Clean(r.Base) != r.Base || r.Base == "/":
		return nil, fail(0, "base is %s; use the absolute path of a folder, without .. and a / at its end", plain.Quote(r.Base))
	case len(r.Base) > maxBase:
		return nil, fail(0, "base has %d characters; at most %d are possible, as paths of sockets below it are short", len(r.Base), maxBase)
	case len(top.Rules) == 0:
		return nil, fail(0, "there is no rule")
	}
	// The values are parts of text in order, so each is found behind the one before.
	at := 0
	for i, raw := range top.Rules {
		at += bytes.Index(text[at:], raw)
		var one rule
		offset, err := decode(raw, &one, map[string][]string{
			"when": {"id", "name", "issuer", "group"}, "workspace": nil, "roots": nil, "settings": nil, "mode": nil, "user": nil,
			"limits": {"requestsPerMinute", "calls", "sessions", "commands", "tasks", "outputMB", "memoryMB", "cpu"},
		})
		if err == nil {
			offset, err = 0, one.check(r.Base)
		}
		if err != nil {
			return nil, fail(at+offset, "rule %d: %v", i+1, err)
		}
		at += len(raw)
		r.rules = append(r.rules, one)
	}
	return r, nil
}

// decode decodes an object. keys are its possible keys, with the keys of objects in it. It returns the
// offset of an error, as far as it is known.
func decode(text []byte, to any, keys map[string][]string) (offset int, err error) {
	members, err := strictjson.Members(text)
	if err != nil {
		return 0, fmt.Errorf("it is not an object")
	}
	for _, m := range members {
		below, known := keys[m.Key]
		if !known {
			return m.From, fmt.Errorf("%s is not known here; known are %s", plain.Quote(m.Key), strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		}
		if below == nil {
			continue
		}
		if offset, err := decode(text[m.From:m.To], &struct{}{}, keysOf(below)); err != nil {
			return m.From + offset, fmt.Errorf("%s: %w", m.Key, err)
		}
	}
	if err := json.Unmarshal(text, to); err != nil {
		wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok {
			return 0, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return min(int(wrong.Offset), len(text)), fmt.Errorf("%s is a %s; see the table of properties in docs/workspaces.md", plain.Quote(wrong.Field), wrong.Value)
	}
	return 0, nil
}

func keysOf(names []string) map[string][]string {
	keys := map[string][]string{}
	for _, name := range names {
		keys[name] = nil
	}
	return keys
}

// check returns an error if a rule could never hold, or gives more than a workspace may have.
func (r *rule) check(base string) error {
	const some = "x"
	switch {
	case r.When.Group != "" && r.When.Issuer == "":
		return fmt.Errorf("when has a group without an issuer; each issuer has groups of its own")
	case r.Workspace == "":
		return fmt.Errorf("workspace is missing; use a name, or %s for one of each user", inPrincipal)
	case !validTemplate.MatchString(r.Workspace) || !validName.MatchString(strings.ReplaceAll(r.Workspace, inPrincipal, some)):
		return fmt.Errorf("workspace is %s; use a to z, 0 to 9 and -, at most 41 characters, and %s", plain.Quote(r.Workspace), inPrincipal)
	case r.Mode != "" && !slices.Contains(policy.Modes, r.Mode):
		return fmt.Errorf("mode is %s; there are %s", plain.Quote(r.Mode), strings.Join(policy.Modes, ", "))
	case r.Mode == string(policy.ModeBypass):
		return fmt.Errorf("mode is bypassPermissions, which is not for the users of a server; use another")
	case r.Settings != "" && !filepath.IsAbs(r.Settings):
		return fmt.Errorf("settings is %s; use an absolute path", plain.Quote(r.Settings))
	case len(r.Roots) == 0:
		return fmt.Errorf("roots is missing; use a folder such as %s/%s/work", inBase, inWorkspace)
	}
	l := r.Limits
	if min(l.RequestsPerMinute, l.Calls, l.Sessions, l.Commands, l.Tasks, l.OutputMB, l.MemoryMB) < 0 || l.CPU < 0 {
		return fmt.Errorf("a limit is negative; leave it out for none")
	}
	if l.MemoryMB > 0 && l.MemoryMB < 128 {
		return fmt.Errorf("memoryMB is %d; a workspace needs 128 or more", l.MemoryMB)
	}
	if strings.ContainsAny(r.Settings+strings.Join(r.Roots, ""), "\x00\n") {
		return fmt.Errorf("a path has a line break")
	}
	folder := filepath.Join(base, some)
	var roots []string
	for _, root := range r.Roots {
		path := expand(root, base, some)
		for _, p := range placeholder.FindAllString(root, -1) {
			if p != inBase && p != inWorkspace {
				return fmt.Errorf("the root %s has %s; there are %s and %s", plain.Quote(root), p, inBase, inWorkspace)
			}
		}
		switch {
		case !strings.HasPrefix(root, inBase+"/"+inWorkspace+"/") || filepath.Clean(path) != path:
			return fmt.Errorf("the root %s is not in the folder of the workspace; use a path that begins with %s/%s/, so that no other workspace has it", plain.Quote(root), inBase, inWorkspace)
		case slices.ContainsFunc(reserved, func(name string) bool { return overlap(path, filepath.Join(folder, name)) }):
			return fmt.Errorf("the root %s is in %s, which the server has for itself; use another name", plain.Quote(root), strings.Join(reserved, " or "))
		case slices.ContainsFunc(roots, func(other string) bool { return overlap(path, other) }):
			return fmt.Errorf("the root %s overlaps with another; leave out one of them", plain.Quote(root))
		}
		roots = append(roots, path)
	}
	return nil
}

// reserved lists the names in the folder of a workspace that the server uses.
var reserved = []string{"home", "state", "state-worktrees"}

func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func expand(path, base, workspace string) string {
	return strings.NewReplacer(inBase, base, inWorkspace, workspace).Replace(path)
}

// Len returns the number of rules.
func (r *Rules) Len() int { return len(r.rules) }

func (r *Rules) hasUsers() bool {
	return slices.ContainsFunc(r.rules, func(one rule) bool { return one.User != "" })
}

// Find returns the workspace of a principal. It returns false if no rule fits.
func (r *Rules) Find(p identity.Principal) (*Spec, bool) {
	i := slices.IndexFunc(r.rules, func(one rule) bool { return one.When.fits(p) })
	if i < 0 {
		return nil, false
	}
	one := r.rules[i]
	name := strings.ReplaceAll(one.Workspace, inPrincipal, nameOf(p))
	if !validName.MatchString(name) { // too long with the name of a token
		name = strings.ReplaceAll(one.Workspace, inPrincipal, hashed(p.ID))
	}
	if !validName.MatchString(name) {
		return nil, false
	}
	s := &Spec{
		Name: name, Folder: filepath.Join(r.Base, name), Temp: filepath.Join(r.Base, temporary, hashed(name)[:12]),
		Settings: one.Settings, Mode: one.Mode, User: one.User, Limits: one.Limits, template: one.Workspace,
	}
	s.Home, s.State = filepath.Join(s.Folder, "home"), filepath.Join(s.Folder, "state")
	for _, root := range one.Roots {
		s.Roots = append(s.Roots, expand(root, r.Base, name))
	}
	return s, true
}

func (w when) fits(p identity.Principal) bool {
	return (w.ID == "" || w.ID == p.ID) &&
		(w.Name == "" || p.ID == named+w.Name) &&
		(w.Issuer == "" || w.Issuer == p.Issuer) &&
		(w.Group == "" || slices.Contains(p.Groups, w.Group))
}

// named begins the IDs of the principals of named tokens.
const named = "token:"

// nameOf returns the name for the workspace of a principal: that of a named token, or a hash of the
// ID. Nothing that a user chose is part of it.
func nameOf(p identity.Principal) string {
	if name, ok := strings.CutPrefix(p.ID, named); ok && validName.MatchString(name) {
		return name
	}
	return hashed(p.ID)
}

// hashed returns 26 characters that stand for an ID: 130 bits of its SHA-256.
func hashed(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}
