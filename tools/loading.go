package tools

import (
	"encoding/json"
	"strings"
	"unicode"
)

// This file decides which tools a client is shown from the start, and how it
// comes by the others. Whatever is shown, every tool can be called by its name.

// Deferral is how tools that are not always loaded are offered.
type Deferral string

const (
	// DeferAuto is one of DeferHints and DeferDispatch for each client; Resolve chooses.
	DeferAuto Deferral = "auto"
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
var Deferrals = []string{string(DeferAuto), string(DeferHints), string(DeferDispatch), string(DeferLegacyList), string(DeferOff)}

// Searches reports whether tools have to be searched for.
func (d Deferral) Searches() bool { return d == DeferDispatch || d == DeferLegacyList }

// ListBudget is the size in tokens up to which DeferAuto lists every tool for a
// client that does not defer tools by itself.
const ListBudget = 4000

// Resolve returns how tools are offered to one client: d, unless that is DeferAuto.
// A client that defers tools by itself then gets DeferHints, and so does every
// client as long as the whole list fits in ListBudget. Others get DeferDispatch.
// An upstream server whose tools are not known yet counts as too large, so that a
// list that was small enough does not grow without bound when the server connects.
func (c *Catalogue) Resolve(d Deferral, defers bool) Deferral {
	switch {
	case d != DeferAuto:
		return d
	case defers || c.fits():
		return DeferHints
	}
	return DeferDispatch
}

// fits reports whether the list of all tools fits in ListBudget.
func (c *Catalogue) fits() bool {
	for i := range c.servers {
		if s := &c.servers[i]; len(s.Tools) == 0 && s.State != Ready && s.State != Refused {
			return false
		}
	}
	total := 0
	for _, t := range c.tools {
		if !t.Finder {
			total += t.Tokens()
		}
	}
	return total <= ListBudget
}

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

// Listed are the tools that tools/list shows under a deferral, in its order; loaded
// reports what else a session has found, nil: nothing.
func (r *Registry) Listed(how Deferral, loaded func(name string) bool) []*Tool {
	all := r.Tools()
	searches, start := how.Searches(), r.FromStart()
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
