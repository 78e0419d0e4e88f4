package policy

import (
	"slices"
	"time"
)

// Hooks of the settings: commands of the user that run before and after calls. This
// package finds the hooks that match a call. It does not run them.

// Event is a point of a call at which hooks run.
type Event string

// The events. PreToolUse occurs before the decision takes effect. The others occur
// after the call, depending on its success.
const (
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
)

// hookEvents lists all events.
var hookEvents = []Event{PreToolUse, PostToolUse, PostToolUseFailure}

// Limits of a hook's timeout.
const (
	// defaultHookTimeout is the timeout of a hook that sets none. Users of hooks are used to
	// this value.
	defaultHookTimeout = time.Minute
	// minHookTimeout is shorter than the start of a shell.
	minHookTimeout = time.Millisecond
	// maxHookTimeout is longer than any user waits for a call. A larger value probably means
	// that milliseconds were taken for the unit.
	maxHookTimeout = time.Hour
)

// Hook is a command to run before or after a call.
type Hook struct {
	Command string        // text for a shell; not made safe to show
	Timeout time.Duration // always positive
	Source  string        // the settings file that defines the hook; not made safe to show
}

// Hooks holds the hooks of settings files. It is immutable. A nil *Hooks has no hooks.
type Hooks struct {
	groups     []hookGroup
	failClosed bool
}

// hookGroup holds the hooks of one matcher.
type hookGroup struct {
	event Event
	tools matcher
	hooks []Hook
}

// Hooks returns the hooks of the settings, or nil if s is nil.
func (s *Settings) Hooks() *Hooks {
	if s == nil {
		return nil
	}
	return &s.hooks
}

// MergeHooks combines the hooks of several settings files, the most authoritative
// first. The result fails closed if one of the files does.
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

// FailClosed reports whether a PreToolUse hook that fails or times out denies the call
// (the setting hooksFailClosed).
func (h *Hooks) FailClosed() bool { return h != nil && h.failClosed }

// Any reports whether there are hooks for an event, for any tool.
func (h *Hooks) Any(event Event) bool {
	return h != nil && slices.ContainsFunc(h.groups, func(g hookGroup) bool { return g.event == event })
}

// All returns the hooks of all events, in the order of the settings.
func (h *Hooks) All() (all []Hook) {
	if h != nil {
		for _, g := range h.groups {
			all = append(all, g.hooks...)
		}
	}
	return all
}

// Matching returns the hooks to run for a call of a tool, in the order of the
// settings. aliases are former names of the tool. A command that occurs several times
// is returned once, at its first position, with its longest timeout.
//
// A matcher that is missing, "" or "*" matches every tool. A matcher of letters,
// digits, _ and - is the name of a tool; several names are separated by | or a comma.
// Any other matcher is a regular expression (RE2), which may match any part of the
// name.
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
