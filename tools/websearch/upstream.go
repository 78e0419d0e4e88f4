package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// callUpstream searches with a tool of an upstream server. The policy judges that call by the
// rules on the tool. Its answer has no known form, so it is returned as text.
func (o Options) callUpstream(ctx context.Context, env *tools.Env, in prepared, out Output) (tools.Result[Output], error) {
	if !o.Searches.take(env.Session.Owner()) {
		out.notice = spent
		return tools.Result[Output]{Data: out}, nil
	}
	args, err := json.Marshal(map[string]string{"query": in.Query})
	if err != nil {
		return tools.Result[Output]{}, err
	}
	o.Await(ctx, o.Upstream) // a nested call does not wait for its server
	resp, err := env.Call(ctx, o.Upstream, args)
	if unknown, ok := errors.AsType[*tools.UnknownTool](err); ok && unknown.Reason == "" && unknown.ServerReason == "" {
		return tools.Result[Output]{}, fault.New(o.Name+" does not exist", "Ask the user to correct webSearch.tool in the settings.")
	}
	if err != nil {
		return tools.Result[Output]{}, err
	}
	var texts []string
	for _, c := range resp.Content {
		switch c := c.(type) {
		case tools.Text:
			texts = append(texts, c.Text)
		case tools.Resource:
			texts = append(texts, c.Text)
		}
	}
	out.Text = strings.TrimSpace(strings.Join(texts, "\n"))
	if resp.Failed { // refused, with the next step, or failed
		return tools.Result[Output]{}, errors.New(plain.Lines(cmp.Or(out.Text, o.Name+" failed")))
	}
	return tools.Result[Output]{Data: out}, nil
}
