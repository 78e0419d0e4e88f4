package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/text/plain"
)

// Known keys below an event, and of a hook.
var (
	groupKeys = []string{"hooks", "matcher"}
	hookKeys  = []string{"command", "timeout", "type"}
)

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

// readHooks reads the hooks of all events. It warns about events that only Claude Code
// has; their hooks never run here.
func (s *Settings) readHooks(f field) error {
	if f.value.kind != isObject {
		return f.value.typeError(f.key, "an object")
	}
	for _, g := range f.value.fields {
		path := joinKey(f.key, g.key)
		switch {
		case slices.Contains(hook.Events, hook.Event(g.key)):
		case slices.Contains(claudeEvents, g.key):
			s.warn(g.line, "%s: there is no such event here, its hooks never run", path)
			continue
		default:
			s.fault(g.line, f.key, g.key, "event", eventNames(), claudeEvents)
			continue
		}
		if g.value.kind != isArray {
			return g.value.typeError(path, "an array of objects")
		}
		for i, n := range g.value.items {
			if err := s.readGroup(hook.Event(g.key), fmt.Sprintf("%s[%d]", path, i), n); err != nil {
				return err
			}
		}
	}
	return nil
}

func eventNames() []string {
	var names []string
	for _, e := range hook.Events {
		names = append(names, string(e))
	}
	return names
}

// readGroup reads a matcher and its hooks.
func (s *Settings) readGroup(event hook.Event, path string, n *node) error {
	if n.kind != isObject {
		return n.typeError(path, "an object")
	}
	tools, hooks := hook.AllTools, []hook.Hook(nil)
	listed := false
	for _, f := range n.fields {
		at := joinKey(path, f.key)
		switch f.key {
		case "matcher":
			if f.value.kind != isString {
				return f.value.typeError(at, "a string")
			}
			tools = s.readMatcher(event, f.line, at, f.value.text)
		case "hooks":
			listed = true
			if f.value.kind != isArray {
				return f.value.typeError(at, "an array of objects")
			}
			for i, item := range f.value.items {
				one, ok, err := s.readHook(fmt.Sprintf("%s[%d]", at, i), item)
				if err != nil {
					return err
				}
				if ok {
					hooks = append(hooks, one)
				}
			}
		default:
			s.fault(f.line, path, f.key, "key", groupKeys, nil)
		}
	}
	if !listed {
		s.warn(n.line, "%s: it has no hooks, ignored", path)
	}
	if len(hooks) > 0 && !tools.None() {
		s.hooks.Add(event, tools, hooks)
	}
	return nil
}

// readMatcher reads a matcher. If it is malformed, PreToolUse hooks run for every
// call, because they may be meant to refuse it. Other hooks do not run at all.
func (s *Settings) readMatcher(event hook.Event, line int, path, text string) hook.Matcher {
	m, err := hook.ParseMatcher(text)
	switch {
	case err != nil && event == hook.PreToolUse:
		s.warn(line, "%s: %s cannot be used (%v), so its hooks run for every call", path, plain.Quote(text), err)
		return hook.AllTools
	case err != nil:
		s.warn(line, "%s: %s cannot be used (%v), so its hooks never run", path, plain.Quote(text), err)
	}
	return m
}

// readHook reads one hook. ok reports whether there is a command to run.
func (s *Settings) readHook(path string, n *node) (h hook.Hook, ok bool, err error) {
	if n.kind != isObject {
		return hook.Hook{}, false, n.typeError(path, "an object")
	}
	h = hook.Hook{Timeout: defaultHookTimeout, Source: s.source}
	kind, typed := "", false
	var others []string
	for _, f := range n.fields {
		at := joinKey(path, f.key)
		switch f.key {
		case "type", "command":
			if f.value.kind != isString {
				return hook.Hook{}, false, f.value.typeError(at, "a string")
			}
			if f.key == "command" {
				h.Command = f.value.text
			} else {
				kind, typed = f.value.text, true
			}
		case "timeout":
			if f.value.kind != isNumber {
				return hook.Hook{}, false, f.value.typeError(at, "a number of seconds")
			}
			h.Timeout = s.readTimeout(f.line, at, f.value.text)
		default:
			others = append(others, f.key)
		}
	}
	if typed && kind != "command" {
		s.warn(n.line, "%s: hooks of type %s have no effect here, only those of type command", path, plain.Quote(kind))
		return hook.Hook{}, false, nil
	}
	return h, s.runnable(n.line, path, h, typed, others), nil
}

// runnable reports whether a hook can run, and warns about what is unusual in it. A
// hook without a type is taken for a command: not to run a hook that was meant as a
// guard would be worse.
func (s *Settings) runnable(line int, path string, h hook.Hook, typed bool, others []string) bool {
	if strings.TrimSpace(h.Command) == "" || strings.ContainsRune(h.Command, 0) {
		s.warn(line, "%s: it has no command that can be run, ignored", path)
		return false
	}
	if slices.Contains(others, "args") { // without its args it would be a different command
		s.warn(line, "%s: hooks with args have no effect here; write them into the command", path)
		return false
	}
	if !typed {
		s.warn(line, "%s: it has no type, taken as command", path)
	}
	for _, key := range others {
		s.unknownBelow(line, path, key, hookKeys, claudeHookKeys)
	}
	return true
}

// readTimeout reads a number of seconds.
func (s *Settings) readTimeout(line int, path, text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64) // err: the number overflows, and seconds is infinite
	switch least := minHookTimeout.Seconds(); {
	case err != nil && seconds > 0, seconds > maxHookTimeout.Seconds():
		s.warn(line, "%s: %s seconds is too long; %v is taken", path, plain.Quote(text), maxHookTimeout)
		return maxHookTimeout
	case err != nil, seconds < least:
		s.warn(line, "%s: %s seconds is too short; the default of %v is taken", path, plain.Quote(text), defaultHookTimeout)
		return defaultHookTimeout
	}
	return time.Duration(seconds * float64(time.Second))
}
