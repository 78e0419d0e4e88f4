package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/tools"
)

var update = flag.Bool("update", false, "rewrite the snapshots")

// snapshot holds all parts of a definition that a model, a client or a user can see.
type snapshot struct {
	Name          string          `json:"name"`
	Title         string          `json:"title"`
	Aliases       []string        `json:"aliases,omitempty"`
	SearchHint    string          `json:"searchHint"`
	Loading       string          `json:"loading"`
	Feature       string          `json:"feature,omitempty"`
	Interrupt     string          `json:"interrupt"`
	MaxResultSize int             `json:"maxResultSize"`
	Keep          string          `json:"keep"`
	Hints         tools.Hints     `json:"hints"`
	Prompt        []string        `json:"prompt"` // by lines, so that a change is a readable diff
	InputSchema   json.RawMessage `json:"inputSchema"`
	OutputSchema  json.RawMessage `json:"outputSchema"`
}

// TestSnapshots checks that definitions change only on purpose.
func TestSnapshots(t *testing.T) {
	const dir = "testdata/tools"
	seen := map[string]bool{}
	for _, tool := range List(Options{}) {
		in, err := tool.InputSchema()
		if err != nil {
			t.Fatal(err)
		}
		out, err := tool.OutputSchema()
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		enc := json.NewEncoder(&data)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(snapshot{
			tool.Name, tool.Title, tool.Aliases, tool.SearchHint, tool.Loading.String(), tool.Feature, tool.Interrupt.String(),
			tool.MaxResultSize, tool.Excerpt.String(), tool.Hints, strings.Split(tool.Prompt, "\n"), in, out,
		}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, tool.Name+".json")
		seen[file] = true
		if *update {
			if err := os.WriteFile(file, data.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; run go test ./tools/builtin -update and review the diff", err)
		}
		if diff := cmp.Diff(string(want), data.String()); diff != "" {
			t.Errorf("%s has changed; if on purpose, run go test ./tools/builtin -update (-want +got):\n%s", tool.Name, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f] {
			t.Errorf("%s is the snapshot of no tool", f)
		}
	}
}

// mostAlways is the limit of the definitions that every model has in its context, in
// tokens. Together with the tools that find the others they stay below tools.AutoBudget.
const mostAlways = 2700

// TestAlwaysLoaded checks that the definitions that are always loaded are small.
func TestAlwaysLoaded(t *testing.T) {
	total := 0
	var each []string
	for _, tool := range List(Options{}) {
		if tool.Loading != tools.LoadAlways || tool.Finder {
			continue
		}
		if _, err := tool.InputSchema(); err != nil {
			t.Fatal(err)
		}
		total += tool.Tokens()
		each = append(each, fmt.Sprintf("%s %d", tool.Name, tool.Tokens()))
	}
	if len(each) == 0 || total > mostAlways {
		t.Errorf("the tools that are always loaded have %d tokens, and %d is the most: %s", total, mostAlways, strings.Join(each, ", "))
	}
}

// TestInvariants checks properties that hold for every tool.
func TestInvariants(t *testing.T) {
	list := List(Options{})
	if _, err := tools.NewRegistry(list, tools.Gates{}); err != nil {
		t.Error(err)
	}
	names := make([]string, len(list))
	for i, tool := range list {
		names[i] = tool.Name
		if first := tool.Name[0]; first < 'A' || first > 'Z' {
			t.Errorf("%s: a built-in begins with a capital, which sorts it before the tools of other servers", tool.Name)
		}
		if len(tool.Prompt) >= tools.MaxPrompt {
			t.Errorf("%s: the description has %d bytes", tool.Name, len(tool.Prompt))
		}
		if tool.Hints.ReadOnly && tool.Hints.Destructive {
			t.Errorf("%s is read-only and destructive", tool.Name)
		}
		if tool.SearchHint == "" {
			t.Errorf("%s has no search hint", tool.Name)
		}
		// Making the schemas checks that they are closed, flat and described.
		if _, err := tool.InputSchema(); err != nil {
			t.Error(err)
		}
		if _, err := tool.OutputSchema(); err != nil {
			t.Error(err)
		}
		if _, err := tool.Parse(json.RawMessage(`{"no such property":1}`)); err == nil || !strings.Contains(err.Error(), `unknown property "no such property"`) {
			t.Errorf("%s accepts an unknown property: %v", tool.Name, err)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the list is not sorted by name: %v", names)
	}
}
