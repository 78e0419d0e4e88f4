package policy

import (
	"slices"
	"time"
)

// This file holds what the settings say of hooks: commands of the user that are
// run before and after calls. The package finds those that match a call and
// starts nothing.

// Event is a moment of a call at which hooks run.
type Event string

// The events. PreToolUse comes before the decision takes effect, the others
// behind the call, by whether the tool did what it should.
const (
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
)

// hookEvents are all events.
var hookEvents = []Event{PreToolUse, PostToolUse, PostToolUseFailure}

// Limits of the time that a hook may take.
const (
	// defaultHookTimeout is for a hook without a timeout: what users of hooks
	// are used to.
	defaultHookTimeout = time.Minute
	// minHookTimeout is less than a shell takes to start.
	minHookTimeout = time.Millisecond
	// maxHookTimeout is longer than anybody waits for a call. Above it somebody
	// has mistaken the unit for milliseconds.
	maxHookTimeout = time.Hour
)

// Hook is a command to run.
type Hook struct {
	Command string        // for a shell; not made safe to show
	Timeout time.Duration // how long it may take, more than 0
	Source  string        // the settings file it is from; not made safe to show
}

// Hooks are the hooks of settings files. They never change; nil has none.
type Hooks struct {
	groups     []hookGroup
	failClosed bool
}

// hookGroup is the hooks of one matcher.
type hookGroup struct {
	event Event
	tools matcher
	hooks []Hook
}

// Hooks are the hooks of the settings, which may be nil.
func (s *Settings) Hooks() *Hooks {
	if s == nil {
		return nil
	}
	return &s.hooks
}

// MergeHooks makes one of the hooks of several settings files, given in order
// of authority. They fail closed if one of the files says so.
func MergeHooks(list ...*Hooks) *Hooks {
	all := &Hooks{}
	for _, h := range list {
		if h != nil {
			all.groups = append(all.groups, h.groups...)
			all.failClosed = all.failClosed || h.failClosed
		}
	}
	return all
}

// FailClosed reports whether a PreToolUse hook that fails or is late denies the
// call (hooksFailClosed).
func (h *Hooks) FailClosed() bool { return h != nil && h.failClosed }

// Any reports whether there are hooks for an event, whatever the tool.
func (h *Hooks) Any(event Event) bool {
	return h != nil && slices.ContainsFunc(h.groups, func(g hookGroup) bool { return g.event == event })
}

// All are the hooks of all events, in the order of the settings.
func (h *Hooks) All() (all []Hook) {
	if h != nil {
		for _, g := range h.groups {
			all = append(all, g.hooks...)
		}
	}
	return all
}

// Matching returns the hooks to run for a call of a tool, which had the names in
// aliases before, in the order of the settings. A command that is there several
// times is returned once, where it stands first, with the longest of its
// timeouts.
//
// A matcher that is missing, "" or "*" matches every tool. One of letters,
// digits, _ and - is the name of a tool, and several of them are separated by |
// or a comma. Any other is a regular expression (RE2) for some part of the name.
func (h *Hooks) Matching(event Event, tool string, aliases []string) []Hook {
	if h == nil {
		return nil
	}
	var out []Hook
	at := map[string]int{}
	for _, g := range h.groups {
		if g.event != event || !g.tools.matches(tool) && !slices.ContainsFunc(aliases, g.tools.matches) {
			continue
		}
		for _, hook := range g.hooks {
			if i, again := at[hook.Command]; again {
				out[i].Timeout = max(out[i].Timeout, hook.Timeout)
				continue
			}
			at[hook.Command] = len(out)
			out = append(out, hook)
		}
	}
	return out
}
