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
		if n := rules.Count(policy.Allow); n != len(presets[name]) {
			t.Errorf("%d allow rules", n)
		}
		p := policy.New(policy.Config{Rules: rules, Roots: []string{"/ws"}})
		for command, want := range map[string]policy.Behavior{
			"go build ./...": policy.Allow, "go test ./...": policy.Deny, "git commit -m x": policy.Ask, "make": policy.Allow, "make install": policy.Ask, "npx tsc": policy.Ask,
			"make test": policy.Allow, "make test install": policy.Ask, "cmake --build . --target install": policy.Ask, "tox -e publish": policy.Ask,
			"mvn test": policy.Allow, "mvn test deploy": policy.Ask, "./gradlew build publish": policy.Ask, "gradle check publish": policy.Ask, "rake test db:drop": policy.Ask,
		} {
			d := p.Decide(policy.Request{Tool: "Bash", Dir: "/ws", Parts: &policy.Parts{List: []policy.Part{{Text: command, Name: command, Allowable: true, Risk: "it is unknown"}}}})
			if d.Behavior != want {
				t.Errorf("%s: %v, %s", command, d.Behavior, d.Reason)
			}
		}
	}
	place.o.Tools = []string{"Bash", "PowerShell"}
	if n := place.find().Merged.rules.Count(policy.Allow); n != 2*len(presets["dev"]) {
		t.Errorf("%d allow rules with PowerShell", n)
	}
}
