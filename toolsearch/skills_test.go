package toolsearch_test

import (
	"context"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/skill"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/toolsearch"
)

// TestSkills checks that a search also finds skills, unless the tool that loads them is absent.
func TestSkills(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	asked := ""
	find := func(words []string, most int) []toolsearch.Skill {
		asked = strings.Join(words, " ")
		return []toolsearch.Skill{{Name: "forms", Description: "Fills forms."}}[:min(most, 1)]
	}
	search := func(list []*tools.Tool, query string) string {
		t.Helper()
		r, err := tools.NewRegistry(list, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.Call(t.Context(), toolsearch.New(toolsearch.Options{Catalogue: r.View, Skills: find}), args(query, 3))
		if err != nil {
			t.Fatal(err)
		}
		return toolstest.Text(resp)
	}
	loads := tools.MustBuild(tools.Def[struct{}, struct{}, struct{}]{Name: "Skill", Prompt: "Loads.", Call: func(context.Context, *tools.Env, struct{}) (r tools.Result[struct{}], err error) { return r, nil }})
	if got, want := search([]*tools.Tool{loads}, "+fill pdf"), "Skills, which the tool Skill loads by name:\n- forms: Fills forms."; got != want || asked != "pdf fill" {
		t.Errorf("%q, asked for %q", got, asked)
	}
	if got := search([]*tools.Tool{skill.New(skill.Options{})}, "pdf"); strings.Contains(got, "forms") {
		t.Error(got)
	}
	if got := search([]*tools.Tool{loads}, "select:Skill"); strings.Contains(got, "forms") {
		t.Error(got)
	}
}
