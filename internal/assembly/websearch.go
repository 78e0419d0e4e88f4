package assembly

import (
	"context"
	"slices"

	"mcp-toolset/internal/settings"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools/websearch"
	"mcp-toolset/web/endpoint"
	"mcp-toolset/web/search"
)

// WebSearch returns the options of the tool WebSearch by settings. It sends nothing.
func (p *Plan) WebSearch(s *settings.Settings, searches *websearch.Searches, await func(context.Context, string)) websearch.Options {
	w := s.WebSearch()
	if w == nil {
		return websearch.Options{Searches: searches}
	}
	o := websearch.Options{Name: w.Provider, Searches: searches, Await: await}
	if w.Server != "" {
		o.Name = "the tool " + plain.Line(w.Tool) + " of the server " + plain.Line(w.Server)
		o.Upstream = policy.ToolsPrefix(policy.ServerPrefix(w.Server)) + w.Tool
		if !slices.ContainsFunc(p.Settings.Upstreams(), func(u settings.Upstream) bool { return u.Name == w.Server }) {
			o.Problem = "webSearch names the server " + plain.Quote(w.Server) + ", which mcpServers does not have; the user can add it there"
		}
		return o
	}
	key := endpoint.Key{Env: w.KeyEnv, File: w.KeyFile, Getenv: p.options.Getenv}
	if _, err := key.Read(); err != nil {
		o.Problem = "the key of the search provider " + w.Provider + " is missing: " + err.Error() + "; the user can correct that and restart the server"
	}
	o.Provider = search.New(search.Config{Provider: w.Provider, URL: w.URL, Key: key})
	return o
}
