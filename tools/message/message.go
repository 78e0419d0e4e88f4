// Package message provides the tools with which sessions of a server work together:
// ListSessions, SendMessage, TeamCreate and TeamDelete.
//
// All but ListSessions have an effect on other sessions, so that they do not count as
// read-only: plan mode refuses them.
package message

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/record/peers"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
)

// maxLine is the limit of summary and description, in characters.
const maxLine = 200

// Options holds the services of the tools.
type Options struct {
	Peers *peers.Registry // a call requires it
	// Continue gives a message to an agent that the session has started and that waits, as its
	// next task. ok is false if there is none of that name. nil: there are no agents.
	Continue func(ctx context.Context, env *tools.Env, name, message string) (text string, ok bool, err error)
}

// New returns the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{newSend(o), newList(o), newCreate(o), newDelete(o)}
}

// checkLength refuses a text that is too long.
func checkLength(property, text string, most int, next string) error {
	if n := utf8.RuneCountInString(text); n > most {
		return fault.New(fmt.Sprintf("%s has %d characters, and the most is %d", property, n, most), next)
	}
	return nil
}

// duration returns a time for a text, in its largest unit.
func duration(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

func text(s string) []tools.Content { return []tools.Content{tools.Text{Text: s}} }
