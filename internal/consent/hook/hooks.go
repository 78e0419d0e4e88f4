package hook

import (
	"slices"
	"time"
)

// Event is a point of a call at which hooks run.
type Event string

// The events. PreToolUse occurs before the decision takes effect. The others occur
// after the call, depending on its success.
const (
	PreToolUse         Event = "PreToolUse"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
)

// Events lists all events.
var Events = []Event{PreToolUse, PostToolUse, PostToolUseFailure}

// Hook is a command to run before or after a call.
type Hook struct {
	Command string        // text for a shell; not made safe to show
	Timeout time.Duration // always positive
	Source  string        // the settings file that defines the hook; not made safe to show
}

// Hooks holds the hooks of settings files, the most authoritative first. It is
// immutable once it is in use. A nil *Hooks has no hooks.
type Hooks struct{ groups []group }

// group holds the hooks of one matcher.
type group struct {
	event Event
	tools Matcher
	hooks []Hook
}

// Add adds hooks to run at an event of the tools that a matcher selects.
func (h *Hooks) Add(event Event, tools Matcher, hooks []Hook) {
	h.groups = append(h.groups, group{event, tools, hooks})
}

// Append adds the hooks of less authoritative settings.
func (h *Hooks) Append(less *Hooks) { h.groups = append(h.groups, less.groups...) }

// Any reports whether there are hooks for an event, for any tool.
func (h *Hooks) Any(event Event) bool {
	return h != nil && slices.ContainsFunc(h.groups, func(g group) bool { return g.event == event })
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
