package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// Limits of a listing. Items beyond them are left out, and a warning is logged.
const (
	maxPages = 100
	maxItems = 2000
	maxList  = 16 << 20
)

// list returns the definitions of the server's tools as received.
func (c *conn) list(ctx context.Context) ([]json.RawMessage, error) {
	if !c.hasTools {
		return nil, nil
	}
	return c.pages(ctx, "tools", func(ctx context.Context, p mcp.PaginatedRequest) (func(string) bool, error) {
		result, err := c.client.ListToolsByPage(ctx, mcp.ListToolsRequest{PaginatedRequest: p})
		if err != nil {
			return nil, err
		}
		// The library omits tools that the protocol requires clients to omit.
		return func(name string) bool {
			return slices.ContainsFunc(result.Tools, func(t mcp.Tool) bool { return t.Name == name })
		}, nil
	})
}

// pages lists all items of a kind. ask requests one page and returns a function
// that reports by name whether an item is valid; nil accepts all.
func (c *conn) pages(ctx context.Context, kind string, ask func(context.Context, mcp.PaginatedRequest) (func(string) bool, error)) (list []json.RawMessage, err error) {
	var request mcp.PaginatedRequest
	seen := map[mcp.Cursor]bool{}
	size := 0
	for range maxPages {
		ctx, got := capturing(ctx)
		stands, err := ask(ctx, request)
		x := got.answer()
		if err != nil && (x.raw == nil || ctx.Err() != nil) {
			if c.isLost() {
				return nil, c.lostError()
			}
			return nil, &answeredError{x, fmt.Errorf("listing %s: %w", kind, err)}
		}
		items, next, err := page(x.raw, kind)
		if err != nil {
			return nil, &failure{reason: fmt.Sprintf("its list of %s is not one", kind)}
		}
		for _, raw := range items {
			size += len(raw)
			if len(list) == maxItems || size > maxList {
				c.s.m.Log.Warn("an upstream server lists too much; the rest is left out", "server", c.s.Name, "kind", kind, "kept", len(list))
				return list, nil
			}
			if stands == nil || stands(nameOf(raw)) {
				list = append(list, raw)
			}
		}
		if next == "" || seen[next] {
			return list, nil
		}
		seen[next] = true
		request.Params.Cursor = next
	}
	c.s.m.Log.Warn("an upstream server lists too many pages; the rest is left out", "server", c.s.Name, "kind", kind, "kept", len(list))
	return list, nil
}

// page decodes the items of one page, and the cursor of the next.
func page(raw json.RawMessage, kind string) (items []json.RawMessage, next mcp.Cursor, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, "", err
	}
	if text, ok := fields["nextCursor"]; ok {
		if err := json.Unmarshal(text, &next); err != nil {
			return nil, "", err
		}
	}
	if fields[kind] == nil {
		return nil, next, fmt.Errorf("there are no %s", kind)
	}
	err = json.Unmarshal(fields[kind], &items)
	return items, next, err
}

func nameOf(raw json.RawMessage) string {
	var d struct{ Name string }
	_ = json.Unmarshal(raw, &d)
	return d.Name
}
