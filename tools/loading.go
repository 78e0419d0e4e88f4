package tools

import (
	"encoding/json"
	"strings"
	"unicode"
)

// This file decides which tools a client is shown from the start, and how it
// comes by the others. Whatever is shown, every tool can be called by its name.

// Deferral is how tools that are not always loaded are offered. It is one for
// all clients of a server: from protocol 2026-07-28 on what is listed must not
// differ between connections.
type Deferral string

const (
	// DeferHints lists everything and says in _meta what to load and what to defer,
	// for clients that defer by themselves. ToolSearch and CallTool are not listed.
	DeferHints Deferral = "hints"
	// DeferDispatch lists what is always loaded, with ToolSearch and CallTool for the rest.
	DeferDispatch Deferral = "dispatch"
	// DeferLegacyList is DeferDispatch, and what a session before protocol 2026-07-28 has
	// found joins its list.
	DeferLegacyList Deferral = "legacy-list"
	// DeferOff lists everything and says nothing of loading.
	DeferOff Deferral = "off"
)

// Deferrals are the values of a Deferral.
var Deferrals = []string{string(DeferHints), string(DeferDispatch), string(DeferLegacyList), string(DeferOff)}

// Searches reports whether tools have to be searched for.
func (d Deferral) Searches() bool { return d == DeferDispatch || d == DeferLegacyList }

// AutoBudget is the size in tokens below which tools that are neither always
// loaded nor deferred are loaded from the start, together with those that always
// are.
const AutoBudget = 3000

// Tokens is about how many tokens the definition takes in a model's context: its
// name, description and input schema at four bytes a token.
func (t *Tool) Tokens() int {
	schema, err := t.InputSchema()
	if err != nil {
		return 0
	}
	return (len(t.Name) + len(t.Prompt) + len(schema) + 3) / 4
}

// FromStart is as in Catalogue, and the same at any time.
func (r *Registry) FromStart() func(*Tool) bool { return r.own.FromStart() }

// FromStart reports which tools a model gets from the start under a deferral that
// defers: those that always are, and the auto ones if all of them together are
// below AutoBudget. Tools of upstream servers do not count, so that they do not
// change what else is there.
func (c *Catalogue) FromStart() func(*Tool) bool {
	total := 0
	for _, t := range c.tools {
		if t.Server == "" && t.Loading != LoadDeferred {
			total += t.Tokens()
		}
	}
	auto := total < AutoBudget
	return func(t *Tool) bool { return t.Loading == LoadAlways || t.Loading == LoadAuto && auto && t.Server == "" }
}

// Listed are the tools that tools/list shows, in its order; loaded says what else
// a session has found, nil: nothing.
func (r *Registry) Listed(loaded func(name string) bool) []*Tool {
	all := r.Tools()
	searches, start := r.Deferral().Searches(), r.FromStart()
	out := make([]*Tool, 0, len(all))
	for _, t := range all {
		switch {
		case t.Finder && !searches:
		case !searches, t.Finder, start(t), loaded != nil && loaded(t.Name):
			out = append(out, t)
		}
	}
	return out
}

// NameWords are the words of a tool's name in lower case: its parts between _, -
// and ., and those of CamelCase. The mark of upstream tools is none of them.
func NameWords(name string) []string {
	name = strings.TrimPrefix(name, "mcp__")
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// Unwrap is the call that the arguments of a wrapping tool name: CallTool.
type Unwrap func(raw json.RawMessage) (name string, args json.RawMessage, err error)
