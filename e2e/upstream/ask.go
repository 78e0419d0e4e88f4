// The special tools that ask the client's user, in either protocol era.

package main

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func form(message, properties string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}
}

const (
	nameField   = `"name":{"type":"string","title":"Name","minLength":1}`
	colourField = `"colour":{"type":"string","enum":["red","green"]}`
)

func asking() []special {
	harmless := hints{DestructiveHint: new(false)}
	return []special{
		{name: "ask", description: "Asks for a name and a colour and answers with the reply.", hints: harmless,
			call: func(_ context.Context, r mcp.CallToolRequest) (result, error) {
				reply, given := said(r, "both")
				if !given {
					return server.NewInputRequestBuilder("asked").Elicit("both", form("A name and a colour, please.", nameField+","+colourField)).ToolResult(), nil
				}
				return mcp.NewToolResultText(reply), nil
			}},
		{name: "ask_twice", description: "Asks for a name, then for a colour, and answers with both replies.", hints: harmless,
			call: func(_ context.Context, r mcp.CallToolRequest) (result, error) {
				if colour, given := said(r, "colour"); given {
					return mcp.NewToolResultText(r.Params.RequestState + " then " + colour), nil
				}
				if name, given := said(r, "name"); given {
					return server.NewInputRequestBuilder(name).Elicit("colour", form("Now a colour.", colourField)).ToolResult(), nil
				}
				return server.NewInputRequestBuilder("").Elicit("name", form("First a name.", nameField)).ToolResult(), nil
			}},
	}
}

// said returns the reply to a question as JSON, with the values that the user filled in.
func said(r mcp.CallToolRequest, question string) (string, bool) {
	reply := server.ElicitationResponse(r.Params.InputResponses, question)
	if reply == nil {
		return "", false
	}
	out, err := json.Marshal(map[string]any{"action": reply.Action, "content": reply.Content})
	if err != nil {
		return err.Error(), true
	}
	return string(out), true
}
