package message

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// SendInput holds the arguments of SendMessage.
type SendInput struct {
	To      string `json:"to" minLength:"1" jsonschema:"Name of a session or of your team"`
	Message string `json:"message" minLength:"1" jsonschema:"The text, at most 2,000 characters"`
	Summary string `json:"summary,omitempty" jsonschema:"A few words for the user"`
}

// SendOutput describes a message that was sent.
type SendOutput struct {
	From string   `json:"from" jsonschema:"Name of this session, to which an answer can be sent"`
	To   []string `json:"to" jsonschema:"Names of the sessions that get the message"`

	text string
}

//go:embed send.md
var sendPrompt string

func newSend(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[SendInput, SendInput, SendOutput]{
		Name:       "SendMessage",
		Title:      "Send a message",
		Prompt:     sendPrompt,
		SearchHint: "send message to another session agent teammate broadcast team",
		Description: func(in SendInput) string {
			if in.Summary != "" {
				return fmt.Sprintf("Send a message to %s: %s", plain.Line(in.To), plain.Line(in.Summary))
			}
			return "Send a message to " + plain.Line(in.To)
		},
		Loading: tools.LoadDeferred,
		Prepare: func(_ *tools.Env, in SendInput) (SendInput, error) {
			if strings.TrimSpace(in.Message) == "" {
				return in, fault.New("message is empty", "Give the text to send.")
			}
			if err := checkLength("message", in.Message, event.MaxText, "Write the rest to a file, and name the file."); err != nil {
				return in, err
			}
			return in, checkLength("summary", in.Summary, maxLine, "Shorten it.")
		},
		Call: func(ctx context.Context, env *tools.Env, in SendInput) (tools.Result[SendOutput], error) {
			if o.Continue != nil {
				if text, ok, err := o.Continue(ctx, env, in.To, in.Message); ok {
					return tools.Result[SendOutput]{Data: SendOutput{To: []string{in.To}, text: text}}, err
				}
			}
			s, err := o.Peers.Send(env.Session, in.To, in.Message)
			if err != nil {
				return tools.Result[SendOutput]{}, err
			}
			out := SendOutput{From: s.From, To: s.To}
			if s.Team != "" {
				out.text = fmt.Sprintf("Sent to %s of team %s: %s. It follows their next answers.", members(len(s.To)), s.Team, strings.Join(s.To, ", "))
			} else {
				out.text = fmt.Sprintf("Sent to %s, whose last call was %s ago. It follows its next answer.", s.To[0], duration(s.Idle))
			}
			return tools.Result[SendOutput]{Data: out}, nil
		},
		Render: func(o SendOutput) []tools.Content { return text(o.text) },
	})
}

// members returns the number of the other members of a team, for a text.
func members(n int) string {
	if n == 1 {
		return "the other member"
	}
	return fmt.Sprintf("the %d other members", n)
}
