package assembly

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/settings"
)

// TestSwitches checks that options override the features of the settings, and that an
// unknown feature of the settings causes a warning.
func TestSwitches(t *testing.T) {
	s, err := settings.Parse([]byte(`{"features":{"alpha":true,"beta":true,"gamma":true}}`), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := Plan{Config: Config{Settings: s, Log: slog.New(slog.NewTextHandler(&log, nil))}, Switches: map[string]bool{"beta": false}}
	got := p.switches([]string{"alpha", "beta"})
	if !got["alpha"] || got["beta"] {
		t.Errorf("%v", got)
	}
	if !strings.Contains(log.String(), "there is no feature") {
		t.Errorf("an unknown feature in the settings: %s", &log)
	}
}

// TestFindProfiles checks which profile has a name, and what an agent file of another host becomes.
func TestFindProfiles(t *testing.T) {
	s, err := settings.Parse([]byte(`{"profiles":{"explore":{"tools":["Read"],"prompt":"Mine."},"b":{"mode":"plan"}},"agents":{"codex":{"command":["codex"]}},"models":{"default":{"provider":"anthropic","model":"m"}}}`), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	root := t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(home, agentFolders[0], "c.md"):    "---\nname: codex\n---\n",
		filepath.Join(home, agentFolders[1], "plan.md"): "---\nname: plan\n---\n",
		filepath.Join(home, agentFolders[1], "r.md"):    "---\nname: review\ntools: Read, Task, Bash(git *), mcp__x__y\ndisallowedTools: Bash(rm *)\n---\n" + strings.Repeat("Long. ", 200),
		filepath.Join(root, agentFolders[1], "r.md"):    "---\nname: review\n---\n",
		filepath.Join(root, agentFolders[1], "bad.md"):  "no",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := Plan{Config: Config{Settings: s, Home: home}, Found: &settings.Found{Merged: s, Trusted: []string{root}}}
	list, issues := p.FindProfiles()
	var got []string
	for _, o := range list {
		got = append(got, o.Name)
		if len(o.Prompt) > settings.MaxProfilePrompt {
			t.Errorf("the prompt of %s has %d bytes", o.Name, len(o.Prompt))
		}
	}
	if text := strings.Join(got, " "); text != "explore b plan full codex review" {
		t.Error(text)
	}
	if e := list[0]; e.Prompt != "Mine." || e.Offers("Grep") || !list[1].Plan {
		t.Errorf("the settings do not take precedence: %+v", e)
	}
	r, err := PickProfile(list, "review")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Offers("Read") || !r.Offers("mcp__x__y") || r.Offers("Bash") || !strings.HasSuffix(r.Prompt, "r.md: Read it first.]") {
		t.Errorf("%+v", r)
	}
	var texts []string
	for _, i := range issues {
		texts = append(texts, strings.ReplaceAll(strings.ReplaceAll(i.String(), home, ""), root, ""))
	}
	want := "/.claude/agents/bad.md:1: does not begin with front matter; put name and description between two lines ---\n" +
		"/.claude/agents/r.md: is not used: /.claude/agents/r.md has the same name and takes precedence\n" +
		"/.mcp-toolset/agents/c.md: is not used as type of Agent: another one has the name codex and takes precedence\n" +
		"/.claude/agents/plan.md: is not used as profile or type of Agent: another one has the name plan and takes precedence\n" +
		"/.claude/agents/r.md: leaves out names that no tool here has: \"Bash(git *)\""
	if text := filepath.ToSlash(strings.Join(texts, "\n")); text != want {
		t.Error(text)
	}
	got = nil
	for _, kind := range p.agentTypes() {
		got = append(got, kind.Name)
	}
	if text := strings.Join(got, " "); text != "general explore plan codex review" {
		t.Errorf("types of agents: %s", text)
	}
	for name, want := range map[string]string{"reveiw": `there is no profile "reveiw"; did you mean review?`, "zzz": `there is no profile "zzz"; there are explore, b, plan, full, codex, review`} {
		if _, err := PickProfile(list, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBuiltinTypes checks that the settings reject a program with the name of a built-in type of agents.
func TestBuiltinTypes(t *testing.T) {
	for _, kind := range builtinTypes() {
		text := `{"agents":{"` + kind.Name + `":{"command":["x"]}}}`
		if _, err := settings.Parse([]byte(text), "/etc/test.json", "/etc"); err == nil || !strings.Contains(err.Error(), "this type of agents is built in") {
			t.Errorf("%s: %v", kind.Name, err)
		}
	}
}

// TestConfiguration checks that what Config shows has no secrets of rules, and that a key with
// values below it does not count as not set.
func TestConfiguration(t *testing.T) {
	s, err := settings.Parse([]byte(`{"features":{"alpha":true},"permissions":{"allow":["Bash(PGPASSWORD=hunter2 psql *)","Bash(curl -u bob:hunter2secret *)"]}}`), "/etc/test.json", "/etc")
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Config: Config{Settings: s}, Found: &settings.Found{Merged: s}}
	var rules string
	for _, setting := range p.configuration().Settings {
		switch setting.Name {
		case "features":
			t.Error("features is listed beside features.alpha")
		case "permissions.allow":
			for _, v := range setting.Values {
				rules += v.Text
			}
		}
	}
	if rules != `"Bash(PGPASSWORD=[redacted] psql *)""Bash(curl -u bob:[redacted] *)"` {
		t.Error(rules)
	}
}
