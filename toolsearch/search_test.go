package toolsearch_test

import (
	"os"
	"strings"
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
	"mcp-toolset/toolsearch"
)

// names returns the names of the hits of a search.
func names(t testing.TB, w *toolstest.Workspace, tool *tools.Tool, args string) []string {
	t.Helper()
	resp, err := w.Call(t.Context(), tool, args)
	if err != nil {
		t.Fatal(err)
	}
	var out toolsearch.Output
	structured(t, resp, &out)
	var names []string
	for _, h := range out.Tools {
		names = append(names, h.Name)
	}
	return append(names, out.More...)
}

// TestQueries checks that typical queries of models find the intended tool first.
func TestQueries(t *testing.T) {
	data, err := os.ReadFile("testdata/queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := toolstest.NewWorkspace(t)
	tool := searching(registry(t, upstream(t)...))
	n := 0
	for line := range strings.Lines(string(data)) {
		query, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		n++
		got := names(t, w, tool, args(query, 5))
		if len(got) == 0 || got[0] != want {
			t.Errorf("%s:\n got %v\nwant %s", query, got, want)
		}
	}
	if n < 60 {
		t.Errorf("there are only %d queries", n)
	}
}

// TestNegligible checks that a tool that matches very little of a query is not a hit.
func TestNegligible(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	tool := searching(registry(t, upstream(t)...))
	for _, query := range []string{"pizza toppings sorted by taste", "quantum chromodynamics simulator", "book a flight to paris"} {
		if got := names(t, w, tool, args(query, 5)); len(got) > 0 {
			t.Errorf("%s: %v", query, got)
		}
	}
}
