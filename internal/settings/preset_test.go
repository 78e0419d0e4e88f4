package settings

import (
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// TestPreset checks that a preset allows commands, that any file is more authoritative, and
// that the rules have no faults.
func TestPreset(t *testing.T) {
	place := newPlace(t)
	place.file(userFile, `{"permissions":{"deny":["Bash(go test *)"],"ask":["Bash(git commit *)"]}}`)
	place.o.Tools = []string{"Bash", "Read"}
	for _, name := range Presets() {
		place.o.Preset = name
		f := place.find()
		for _, w := range f.Merged.Warnings() {
			if !strings.Contains(w, "Bash(go test *)") && !strings.Contains(w, "Bash(git commit *)") {
				t.Error(w)
			}
		}
		if last := f.Layers[len(f.Layers)-1]; last.Name != Preset || last.Path != name || last.Standing() != "holds" {
			t.Errorf("the last layer: %+v", last)
		}
		rules := f.Merged.Rules()
		if n := rules.Count(policy.Allow); n != count(presets[name]) {
			t.Errorf("%d allow rules", n)
		}
		p := policy.New(policy.Config{Rules: rules, Roots: []string{"/ws"}})
		for command, want := range map[string]policy.Behavior{
			"go build ./...": policy.Allow, "go test ./...": policy.Deny, "git commit -m x": policy.Ask, "make": policy.Allow, "make install": policy.Ask, "npx tsc": policy.Allow, "npx cowsay": policy.Ask,
			"make test": policy.Allow, "make test install": policy.Ask, "cmake --build . --target install": policy.Ask, "tox -e publish": policy.Ask, "cmake -DX=1 ..": policy.Ask,
			"mvn test": policy.Allow, "mvn test deploy": policy.Ask, "./gradlew build publish": policy.Ask, "gradle check publish": policy.Ask, "rake test db:drop": policy.Ask,
			"npm install": policy.Allow, "npm install -D x": policy.Allow, "npm install -g x": policy.Ask, "npm i -Dg x": policy.Ask, "npm install --glob x": policy.Ask, "npm install --prefix=/x y": policy.Ask,
			"git diff --output=x": policy.Ask, "git diff --outp x": policy.Ask, "git grep -nO x": policy.Ask, "uv run --with x y": policy.Ask, "./../x": policy.Ask, "./x": policy.Allow, "node a.js": policy.Allow, "node -e a.js b": policy.Ask,
		} {
			d := p.Decide(uncontained(policy.Part{Text: command, Name: command, Allowable: true}))
			if d.Behavior != want {
				t.Errorf("%s: %v, %s", command, d.Behavior, d.Reason)
			}
			if want != policy.Allow {
				continue
			}
			if d := p.Decide(uncontained(policy.Part{Text: command, Name: command, Allowable: true, Risk: "it is a risk"})); d.Behavior != policy.Ask {
				t.Errorf("%s with a risk: %v, %s", command, d.Behavior, d.Reason)
			}
			outside := uncontained(policy.Part{Text: command, Name: command, Allowable: true})
			outside.Parts.Targets = []policy.Target{{Literal: "/etc/x", Canonical: "/etc/x", Access: policy.Edit}}
			if d := p.Decide(outside); d.Behavior != policy.Ask {
				t.Errorf("%s outside of the workspace: %v, %s", command, d.Behavior, d.Reason)
			}
		}
		// Commands that only read as they are written need no other one beside them.
		for risk, want := range map[string]policy.Behavior{"": policy.Allow, "it is a risk": policy.Ask} {
			if d := p.Decide(uncontained(policy.Part{Text: "ls x", Name: "ls x", Reads: true, Risk: risk})); d.Behavior != want {
				t.Errorf("a read with the risk %q: %v, %s", risk, d.Behavior, d.Reason)
			}
		}
		for _, edits := range []bool{true, false} {
			d := p.Decide(uncontained(policy.Part{Text: "sed -i s/a/b/ f", Name: "sed -i s/a/b/ f", Allowable: true, Edits: edits}))
			if (d.Layer == policy.LayerRule) != edits {
				t.Errorf("sed that only edits, %v: %+v", edits, d)
			}
		}
	}
	place.o.Tools = []string{"Bash", "PowerShell"}
	if n := place.find().Merged.rules.Count(policy.Allow); n != 2*count(presets["dev"]) {
		t.Errorf("%d allow rules with PowerShell", n)
	}
}

// uncontained returns a call of Bash with one part, about which the tool would ask.
func uncontained(part policy.Part) policy.Request {
	return policy.Request{Tool: "Bash", Dir: "/ws", Parts: &policy.Parts{List: []policy.Part{part}}, Own: &policy.Decision{Behavior: policy.Ask, Reason: "it is not contained"}}
}

func count(groups []presetGroup) (n int) {
	for _, g := range groups {
		n += len(g.commands)
	}
	return n
}
