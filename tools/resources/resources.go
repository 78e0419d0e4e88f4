// Package resources provides the tools ListMcpResources and ReadMcpResource for the
// resources of upstream servers.
package resources

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Source provides access to the upstream servers. It is safe for concurrent use.
type Source interface {
	// Servers returns the names of the servers that may be started, in the order in which
	// they are shown.
	Servers() []string
	// Resources connects a server and lists its resources, in limited time. Failures are in
	// the problems.
	Resources(ctx context.Context, server string) ([]Resource, []Problem)
	// ReadResource reads one resource. Its error is worded for the model.
	ReadResource(ctx context.Context, server, uri string, env *tools.Env) ([]tools.Content, error)

	// Denied reports whether a rule denies all tools of a server, and names the rule. Asked
	// reports whether a rule asks about them. Both reasons are one phrase, safe to show.
	Denied(server string) (why string, denied bool)
	Asked(server string) (why string, asked bool)
	// AskAlways reports whether the user is asked about every call that no rule covers.
	AskAlways() bool
}

// noServers is a Source without servers.
type noServers struct{}

func (noServers) Servers() []string                                         { return nil }
func (noServers) Resources(context.Context, string) ([]Resource, []Problem) { return nil, nil }
func (noServers) Denied(string) (string, bool)                              { return "", false }
func (noServers) Asked(string) (string, bool)                               { return "", false }
func (noServers) AskAlways() bool                                           { return false }
func (noServers) ReadResource(_ context.Context, server, _ string, _ *tools.Env) ([]tools.Content, error) {
	return nil, checkServer(noServers{}, server)
}

// Resource describes a resource that an upstream server lists.
type Resource struct {
	Server      string `json:"server" jsonschema:"The server that has it"`
	URI         string `json:"uri" jsonschema:"What the server calls it"`
	Name        string `json:"name,omitempty" jsonschema:"Its name"`
	Title       string `json:"title,omitempty" jsonschema:"Its name for people"`
	Description string `json:"description,omitempty" jsonschema:"What it is"`
	MIMEType    string `json:"mime_type,omitempty" jsonschema:"Its type"`
	Size        int64  `json:"size,omitempty" jsonschema:"Its size in bytes, 0 if that is not known"`
}

// Problem is the reason why a server could not be queried, one line safe to show.
type Problem struct {
	Server string `json:"server" jsonschema:"The server"`
	Why    string `json:"why" jsonschema:"Why it was not asked, or could not be"`
}

// New returns both tools. A nil source has no servers.
func New(source Source) []*tools.Tool {
	if source == nil {
		source = noServers{}
	}
	return []*tools.Tool{newList(source), newRead(source)}
}

// checkServer returns an error for a server that does not exist.
func checkServer(source Source, server string) error {
	names := source.Servers()
	switch {
	case slices.Contains(names, server):
		return nil
	case len(names) == 0:
		return fault.New("there are no other MCP servers", "Ask the user to add one to the settings, under mcpServers.")
	}
	fact := fmt.Sprintf("there is no server %s", plain.Line(fmt.Sprintf("%q", server)))
	if near := nearest.Names(server, names, 3); len(near) > 0 {
		return fault.New(fact, "The nearest is "+plain.Text(strings.Join(near, ", "))+".")
	}
	return fault.New(fact, "There are: "+plain.Text(strings.Join(names, ", "))+".")
}

// check returns the decision for using a server with a tool. Rules that deny or ask about
// the server's tools apply to its resources too.
func check(source Source, tool, server string) *policy.Decision {
	if why, denied := source.Denied(server); denied {
		return &policy.Decision{
			Behavior: policy.Deny, Reason: fmt.Sprintf("the server %s may not be used: %s", plain.Line(server), why),
			Next: "do without it, or ask the user to change the rule",
		}
	}
	return ask(source, tool, server)
}

// ask is like check for a server that is not denied.
func ask(source Source, tool, server string) *policy.Decision {
	if why, asked := source.Asked(server); asked {
		return &policy.Decision{
			Behavior: policy.Ask, Layer: policy.LayerRule, Reason: fmt.Sprintf("the user is asked before the server %s is used: %s", plain.Line(server), why),
			Next: "do without it, or ask the user to change the rule",
		}
	}
	if source.AskAlways() {
		return &policy.Decision{
			Behavior: policy.Ask, Reason: fmt.Sprintf("no setting allows the resources of the server %s", plain.Line(server)),
			Next: "ask the user to add an allow rule such as " + tool + "(" + plain.Line(server) + ")",
		}
	}
	return nil
}

// matches reports whether the pattern of a rule covers a server's name. In a pattern *
// matches any text. Deny and ask rules ignore case.
func matches(b policy.Behavior, pattern, server string) bool {
	if b != policy.Allow {
		pattern, server = strings.ToLower(pattern), strings.ToLower(server)
	}
	pieces := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(server, pieces[0])
	if len(pieces) == 1 {
		return ok && rest == ""
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, piece)
	}
	return ok && strings.HasSuffix(rest, pieces[len(pieces)-1])
}
