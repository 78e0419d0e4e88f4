package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"mcp-toolset/tools"
)

// TestManyResults checks that an answer shows a hundred results, how many there are, and how to
// narrow it.
func TestManyResults(t *testing.T) {
	c := newCalls(t, map[string]string{"a.toy": strings.Repeat("def Alpha BAD\n", maxPlaces+7)})
	if err := os.Mkdir(filepath.Join(c.w.Root, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.write("d/b.toy", "Alpha\nAlpha\n")
	for _, q := range []struct{ operation, argument, value, results, last string }{
		{"findReferences", "symbol", "Alpha", "Alpha BAD\n", "[the first 100 are shown; to narrow, give a part of the path as query: . has 7 more, d has 2 more]"},
		{"goToDefinition", "symbol", "Alpha", "def Alpha BAD\n", "[100 of 107 definitions are shown; use a more specific name]"},
		{"workspaceSymbol", "query", "Alp", "function Alpha a.toy:", "[100 of 107 symbols are shown; use a more specific query]"},
		{"diagnostics", "symbol", "Alpha", "this is bad", "[100 of 107 problems are shown; the most severe ones]"},
	} {
		got, err := c.call("LSP", map[string]any{"operation": q.operation, "filePath": "a.toy", q.argument: q.value})
		if err != nil {
			t.Fatal(q.operation, err)
		}
		lines := strings.Split(got, "\n")
		if strings.Count(got, q.results) != maxPlaces || lines[len(lines)-1] != q.last {
			t.Errorf("%s: %d results, then %q", q.operation, strings.Count(got, q.results), lines[len(lines)-1])
		}
	}
}

// TestProgress checks that a client hears each second what the server does while a question waits.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(t, map[string]string{"a.toy": "SLOW\n"})
		defer c.o.Servers.Close()
		p, env, err := c.prepare("LSP", map[string]any{"operation": "diagnostics", "filePath": "a.toy"})
		if err != nil {
			t.Fatal(err)
		}
		heard := map[string]int{}
		env.Progress = func(p tools.Progress) { heard[p.Message]++ }
		if _, err := p.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if heard["toy-ls: Indexing 1/3"] < 3 {
			t.Error(heard)
		}
	})
}
