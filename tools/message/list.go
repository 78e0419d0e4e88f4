package message

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// maxListed is the limit of sessions in an answer.
const maxListed = 50

// ListInput is the empty input of ListSessions.
type ListInput struct{}

// ListOutput holds sessions.
type ListOutput struct {
	Sessions []Session `json:"sessions" jsonschema:"This session, then the others, the most recently used first"`
	More     int       `json:"more,omitempty" jsonschema:"Number of sessions that are left out"`
}

// Session describes a session.
type Session struct {
	Name   string `json:"name" jsonschema:"Name for SendMessage"`
	You    bool   `json:"you,omitempty" jsonschema:"Whether it is this session"`
	Client string `json:"client,omitempty" jsonschema:"Name of its client, at most 40 characters"`
	Folder string `json:"folder,omitempty" jsonschema:"Its first workspace folder"`
	Team   string `json:"team,omitempty" jsonschema:"Its team"`
	IdleMS int64  `json:"idle_ms" jsonschema:"Time since its last call, in milliseconds"`
}

//go:embed list.md
var listPrompt string

func newList(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ListInput, ListInput, ListOutput]{
		Name:              "ListSessions",
		Title:             "List sessions",
		Prompt:            listPrompt,
		SearchHint:        "list other sessions agents teammates peers of this server",
		Description:       func(ListInput) string { return "List the sessions of this server" },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[ListInput](),
		IsConcurrencySafe: tools.Always[ListInput](),
		IsIdempotent:      tools.Always[ListInput](),
		Call: func(_ context.Context, env *tools.Env, _ ListInput) (tools.Result[ListOutput], error) {
			all, err := o.Peers.List(env.Session)
			if err != nil {
				return tools.Result[ListOutput]{}, err
			}
			return tools.Result[ListOutput]{Data: list(all), Private: true}, nil
		},
		Render: func(o ListOutput) []tools.Content { return text(o.text()) },
	})
}

func list(all []peers.Peer) ListOutput {
	out := ListOutput{More: max(0, len(all)-maxListed)}
	for _, p := range all[:len(all)-out.More] {
		out.Sessions = append(out.Sessions, Session{
			Name: p.Name, You: p.You, Client: p.Client, Folder: p.Folder, Team: p.Team, IdleMS: p.Idle.Milliseconds(),
		})
	}
	return out
}

// text returns a line for each session.
func (o ListOutput) text() string {
	var b strings.Builder
	for _, s := range o.Sessions {
		b.WriteString(s.Name)
		if s.You {
			b.WriteString(" (you)")
		}
		if s.Client != "" {
			b.WriteString(", client " + plain.Key(s.Client))
		}
		if s.Folder != "" {
			b.WriteString(", in " + plain.Line(s.Folder))
		}
		if s.Team != "" {
			b.WriteString(", team " + s.Team)
		}
		if !s.You {
			b.WriteString(", last call " + duration(time.Duration(s.IdleMS)*time.Millisecond) + " ago")
		}
		b.WriteByte('\n')
	}
	switch {
	case o.More > 0:
		fmt.Fprintf(&b, "[%d more, unused for longer]\n", o.More)
	case len(o.Sessions) == 1:
		b.WriteString("[this server has no other session]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
