package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"mcp-toolset/tools/builtin"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs")

// TestToolTable checks that the table of docs/tools.md matches the definitions.
func TestToolTable(t *testing.T) {
	const file = "../../docs/tools.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	table.WriteString("| tool | what it does | read-only | inputs |\n|---|---|---|---|\n")
	for _, tool := range builtin.List(builtin.Options{}) {
		inputs, err := tool.Inputs()
		if err != nil {
			t.Fatal(err)
		}
		shown := "none"
		if len(inputs) > 0 {
			shown = "`" + strings.Join(inputs, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", tool.Name, summary(tool), yesNo(tool.Hints.ReadOnly), shown)
	}
	head, rest, ok1 := strings.Cut(string(page), "-update` -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- /tools -->")
	if !ok1 || !ok2 {
		t.Fatal("docs/tools.md has no place for the tool table")
	}
	want := head + "-update` -->\n" + table.String() + "<!-- /tools -->" + tail
	compare(t, file, want)
}
