package server

// Views of results in hosts that show them, by the extension MCP Apps
// (https://github.com/modelcontextprotocol/ext-apps), protocol 2026-01-26. A view is a page that
// shows the text and the _meta of a result, which every client gets. It only displays.

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/tools"
)

const (
	uiExtension = "io.modelcontextprotocol/ui"
	viewType    = "text/html;profile=mcp-app"
	viewScheme  = "ui://mcp-toolset/"
	metaUI      = "ui" // of a tool, a resource and its contents
)

//go:embed views
var viewFiles embed.FS

// viewMeta declares to the host that a view needs no access.
var viewMeta = map[string]any{metaUI: map[string]any{
	"csp":           map[string]any{"connectDomains": []string{}, "resourceDomains": []string{}, "frameDomains": []string{}, "baseUriDomains": []string{}},
	"prefersBorder": true,
}}

// viewScripts maps views to the scripts of their pages, and to the function that draws.
var viewScripts = map[tools.View]struct {
	files []string
	draw  string
}{
	tools.ViewDiff:   {[]string{"diff.js"}, "diff"},
	tools.ViewOutput: {[]string{"output.js"}, "output"},
	tools.ViewCall:   {[]string{"diff.js", "output.js", "call.js"}, "byTool"},
}

func viewFile(name string) string {
	data, err := viewFiles.ReadFile("views/" + name)
	if err != nil {
		panic(err) // a view without its file
	}
	return string(data)
}

// viewPage returns the page of a view. The one of a call of any tool knows the views of all tools.
func viewPage(v tools.View, all []*tools.Tool) string {
	byName := map[string]tools.View{}
	for _, t := range all {
		for _, name := range append([]string{t.Name}, t.Aliases...) {
			if t.View != "" && t.View != tools.ViewCall {
				byName[name] = t.View
			}
		}
	}
	table, err := json.Marshal(byName)
	if err != nil {
		panic(err) // cannot happen: names and views are text
	}
	page := viewFile("view.html") + viewFile("view.js")
	for _, name := range viewScripts[v].files {
		page += viewFile(name)
	}
	return page + fmt.Sprintf("\nconst view = '%s', draw = %s, views = %s;\n", v, viewScripts[v].draw, table) + viewFile("end.html")
}

// offerViews adds the views to the server. Only clients that declare the extension get them.
func (s *Server) offerViews(hooks *mcpserver.Hooks) {
	for _, v := range tools.Views {
		r := mcp.NewResource(viewScheme+string(v.View), string(v.View), mcp.WithResourceDescription(v.About), mcp.WithMIMEType(viewType))
		r.Meta = mcp.NewMetaFromMap(maps.Clone(viewMeta))
		s.mcp.AddResource(r, func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			if !showsViews(ctx) {
				callFrom(ctx).unknown = fmt.Errorf("the client shows no %s: it does not declare %s with the MIME type %s", r.Params.URI, uiExtension, viewType)
				return nil, callFrom(ctx).unknown
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{Meta: viewMeta, URI: r.Params.URI, MIMEType: viewType, Text: viewPage(v.View, s.Registry.Tools())}}, nil
		})
	}
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, r *mcp.ListResourcesResult) {
		if !showsViews(ctx) {
			r.Resources = slices.DeleteFunc(r.Resources, func(r mcp.Resource) bool { return r.MIMEType == viewType })
		}
	})
}

// showsViews reports whether the client of a request declares that it shows views.
func showsViews(ctx context.Context) bool {
	var declared map[string]any
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientCapabilities != nil {
			declared = info.ClientCapabilities.Extensions
		}
	} else if c, ok := mcpserver.ClientSessionFromContext(ctx).(mcpserver.SessionWithClientInfo); ok {
		declared = c.GetClientCapabilities().Extensions
	}
	ui, _ := declared[uiExtension].(map[string]any)
	types, _ := ui["mimeTypes"].([]any)
	return slices.Contains(types, any(viewType))
}

// withViews returns definitions of tools with the views of their results. It does not change list.
func withViews(list []mcp.Tool, of []*tools.Tool) []mcp.Tool {
	list = slices.Clone(list)
	for i, t := range of {
		if t.View == "" {
			continue
		}
		meta := map[string]any{}
		if m := list[i].Meta; m != nil {
			meta = maps.Clone(m.AdditionalFields)
		}
		meta[metaUI] = map[string]any{"resourceUri": viewScheme + string(t.View)}
		list[i].Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return list
}
