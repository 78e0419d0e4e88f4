// Plain tools in any number, as varied as those of real servers.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// verbs and things have lengths without a common factor, so that each pair occurs once in
// the first 130 tools.
var (
	verbs  = []string{"Creates", "Lists", "Updates", "Deletes", "Searches", "Archives", "Exports", "Approves", "Assigns", "Merges"}
	things = []string{"an issue", "the invoices", "a calendar event", "the deployments", "a customer record", "the build logs",
		"a chat message", "the database tables", "a feature flag", "the test reports", "a wiki page", "the shipments", "a certificate"}
	closings = []string{
		"The answer says what was done.",
		"Pages hold at most 100 entries; next_page goes on where an answer ended.",
		"It needs the scope project:write. Entries that are locked are left as they are, and named in the answer.",
		"Dates are in UTC, as 2026-01-31T12:00:00Z. Without a filter everything is meant.",
	}
	schemas = []string{
		`{"type":"object","properties":{"id":{"type":"integer","description":"Number of the entry","minimum":1}},"required":["id"]}`,
		`{"type":"object","properties":{"query":{"type":"string","description":"Words to look for"},"limit":{"type":"integer","default":20,"maximum":100},"next_page":{"type":"string"}},"required":["query"],"additionalProperties":false}`,
		`{"type":"object","properties":{"project":{"type":"string","description":"Name or path of the project"},"labels":{"type":"array","items":{"type":"string"},"description":"Labels that all have to be there"},"state":{"type":"string","enum":["open","closed","all"],"default":"open"}},"required":["project"]}`,
		`{"type":"object","properties":{"filter":{"type":"object","properties":{"field":{"type":"string"},"operator":{"enum":["eq","ne","lt","gt"]},"value":{"type":["string","number","boolean"]}},"required":["field","value"]},"dry_run":{"type":"boolean","description":"Only say what would be done","default":false}}}`,
		`{"type":"object","properties":{}}`,
	}
)

func addPlain(s *server.MCPServer, n int) {
	for i := range n {
		name := fmt.Sprintf("tool_%02d", i+1)
		description := fmt.Sprintf("%s %s. %s", verbs[i%len(verbs)], things[i%len(things)], closings[i%len(closings)])
		tool := mcp.NewToolWithRawSchema(name, description, json.RawMessage(schemas[i%len(schemas)]))
		tool.Annotations = mcp.ToolAnnotation{Title: fmt.Sprintf("Tool %d", i+1), ReadOnlyHint: new(i%2 == 1), DestructiveHint: new(false)}
		s.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(name + " was called with " + string(r.Params.RawArguments)), nil
		})
	}
}
