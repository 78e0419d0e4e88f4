package bash

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// scene holds the state under which the tests decide on commands, by the real analysis
// and the real policy.
type scene struct {
	ws, out, home string // folders; ws is the only root
	commands      *command.Commands
	tools         []*tools.Tool // Bash and BashReadOnly
	rules         []entry
	mode          policy.Mode
	uncontained   bool // whether the tool asks about commands that are not known to only read
	exposed       bool // whether commands can read files that rules deny
	online        bool // whether commands have the network of the machine
	closed        []string
	guarded       []string
	policy        *policy.Policy
}

// entry holds a rule and the name of its list.
type entry struct{ list, rule string }

// newScene returns a scene with a workspace that holds links, protected files and
// secrets.
func newScene(t testing.TB) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{ws: base + "/ws", out: base + "/out", home: base + "/home"}
	for _, file := range []string{
		"ws/a", "ws/b", "ws/.env", "ws/src/main.go", "ws/src/[x]", "ws/d/f", "ws/vault/key", "ws/vault/keys", "ws/.git/config", "ws/.git/hooks/x", "ws/.git-credentials",
		"out/secret", "out/dir/f", "home/.ssh/id", "home/.bashrc", "home/Desktop/x",
	} {
		path := filepath.Join(base, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"ws/link": "../out/secret", "ws/dirlink": "../out/dir", "ws/envlink": ".env", "ws/d/a": "../../out/secret", "ws/hooks": ".git/hooks", "ws/dangling": "../out/new",
	} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	s.withCommands(commands(t, "/usr/bin:/bin", s.ws))
	s.set(t)
	return s
}

// withCommands makes commands run with the configuration c.
func (s *scene) withCommands(c *command.Commands) {
	s.commands, s.tools = c, New(Options{Commands: c})
}

// at returns a scene without files, with the folders that the corpora name.
func at(t testing.TB, ws string, rules ...entry) *scene {
	s := &scene{ws: ws, home: "/home/u", commands: commands(t, "/usr/bin:/bin", ws)}
	s.tools = New(Options{Commands: s.commands})
	s.set(t, rules...)
	return s
}

// set builds the policy from the rules and the mode.
func (s *scene) set(t testing.TB, rules ...entry) {
	t.Helper()
	lists := map[string][]string{}
	for _, e := range rules {
		lists[e.list] = append(lists[e.list], s.expand(e.rule))
	}
	data, err := json.Marshal(map[string]any{"permissions": lists})
	if err != nil {
		t.Fatal(err)
	}
	set, err := settings.Parse(data, "/cfg/settings.json", s.ws)
	if err != nil {
		t.Fatal(err)
	}
	s.rules = rules
	s.policy = policy.New(policy.Config{Rules: set.Rules(), AddTo: set.Source(), Roots: []string{s.ws}, Home: s.home, Mode: s.mode, Closed: s.closed, Guarded: s.guarded})
}

// expand replaces <ws>, <out> and <home> by the folders of the scene.
func (s *scene) expand(text string) string {
	return strings.NewReplacer("<ws>", s.ws, "<out>", s.out, "<home>", s.home).Replace(text)
}

func (s *scene) env() *tools.Env {
	kept := s.policy.HidingRules(s.ws, false)
	return &tools.Env{Session: session.View{Dir: s.ws, Roots: []string{s.ws}}, Home: s.home,
		Commands: tools.CommandAccess{ReadDenied: kept.Any(policy.Read), ReadRule: kept.InRoots(policy.Read)}}
}

// decide runs the steps of the pipeline on a command up to the decision.
func (s *scene) decide(t testing.TB, tool int, cmd string) policy.Decision {
	t.Helper()
	r := s.request(t, tool, cmd)
	return s.policy.Decide(r)
}

// uncontained returns the decision of a tool whose commands are not confined.
var errUncontained = errors.New("the test wants it so")

func (s *scene) request(t testing.TB, tool int, cmd string) policy.Request {
	t.Helper()
	env := s.env()
	j, harmless := judge(env, s.commands, shellsafe.Normalize(cmd)), tool == 1
	r := policy.Request{Tool: s.tools[tool].Name, Dir: s.ws, ReadOnly: harmless || j.readOnly(), Parts: complete(t, j.parts(nil, s.commands, cmd, harmless))}
	denied := false
	containment := stub{denied: &denied, exposed: s.exposed || s.uncontained}
	if s.uncontained {
		containment.uncontained = errUncontained
	}
	if s.online {
		containment.network = errUncontained
	}
	if s.exposed && s.env().Commands.ReadDenied {
		containment.open = []string{"reading files that are denied or secret"}
	}
	r.Own = check(env, containment, j, harmless)
	return r
}

// complete resolves links and patterns.
func complete(t testing.TB, from *tools.Parts) *policy.Parts {
	t.Helper()
	to := &policy.Parts{List: from.List, Unresolved: from.Unresolved, Incomplete: from.Incomplete, Unnamed: from.Unnamed, Edits: from.Edits, Harmless: from.Harmless, Readable: from.Readable, Writable: from.Writable}
	for _, named := range from.Paths {
		paths := []string{named.Path}
		if i := strings.IndexAny(named.Path, "*?["); named.Glob && i >= 0 {
			matches, err := filepath.Glob(named.Path)
			if err != nil {
				t.Errorf("the pattern %s: %v", named.Path, err)
			}
			paths = append(matches, filepath.Clean(named.Path[:strings.LastIndexByte(named.Path[:i], '/')+1]))
		}
		for _, path := range paths {
			canonical, err := workspace.Canonical(path)
			if err != nil {
				canonical = path
			}
			if named.Input {
				to.Inputs = append(to.Inputs, len(to.Targets))
			}
			to.Targets = append(to.Targets, policy.Target{Literal: path, Canonical: canonical, Access: named.Access})
		}
	}
	return to
}

// show returns a decision in the notation of the tables.
func show(d policy.Decision) string {
	if d.Layer == policy.LayerRule {
		return d.Behavior.String() + " " + d.Rule
	}
	return d.Behavior.String() + ":" + d.Layer
}
