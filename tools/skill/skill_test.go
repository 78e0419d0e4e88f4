package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/skills"
	"mcp-toolset/tools"
	"mcp-toolset/tools/skill"
	"mcp-toolset/tools/toolstest"
)

// TestCases plays the cases with the skills in testdata/skills.
func TestCases(t *testing.T) {
	dir, err := filepath.Abs("testdata/skills")
	if err != nil {
		t.Fatal(err)
	}
	sources := []skills.Source{{Dir: dir, Layer: skills.User}}
	toolstest.RunIn(t, func(*toolstest.Workspace) *tools.Tool {
		return skill.New(skill.Options{Skills: skills.NewLive(sources, nil)})
	}, "testdata", func(text string) string { return strings.ReplaceAll(text, dir, "$SKILLS") })
}

// TestDescription checks the limit of the description, also with many skills.
func TestDescription(t *testing.T) {
	dir := t.TempDir()
	live := func() *skills.Live {
		return skills.NewLive([]skills.Source{{Dir: dir, Layer: skills.User}}, nil)
	}
	absent := func(want string) {
		t.Helper()
		r, err := tools.NewRegistry([]*tools.Tool{skill.New(skill.Options{Skills: live()})}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Absent(); len(a) != 1 || strings.ReplaceAll(a[0].Reason, dir, "") != want {
			t.Errorf("%+v", a)
		}
	}
	absent("there is no skill; the user can put some into ~/.claude/skills, ~/.agents/skills, or .claude/skills of a trusted project (docs/skills.md)")
	add := func(name, front string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte("---\n"+front), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	add("broken", "name: broken\n")
	absent("there is no skill that can be used: /broken/SKILL.md:1: has front matter without a line --- after it; mcp-toolset skills lists what to correct")
	for n := range 150 {
		name := fmt.Sprintf("skill-with-a-long-name-%03d", n)
		add(name, "name: "+name+"\ndescription: "+strings.Repeat("é", 800)+"\n---\n")
		if n%10 != 9 && n > 3 {
			continue
		}
		tool := skill.New(skill.Options{Skills: live()})
		if len(tool.Prompt) > 1800 || !strings.Contains(tool.Prompt, "Skills:\n") {
			t.Errorf("with %d skills the description has %d bytes", n+1, len(tool.Prompt))
		}
	}
}
