package tools

import (
	"encoding/json"
	"strings"
	"unicode"

	"mcp-toolset/session"
)

// The functions below decide which tools a client sees from the start, and how it finds the
// others. Every tool can be called by its name, whether it is listed or not.

// Deferral selects how tools that are not always loaded are offered.
type Deferral string

const (
	// DeferAuto selects DeferHints or DeferDispatch for each client; see Resolve.
	DeferAuto Deferral = "auto"
	// DeferHints lists all tools and marks in _meta which to load and which to defer, for
	// clients that defer tools themselves. ToolSearch and CallTool are not listed.
	DeferHints Deferral = "hints"
	// DeferDispatch lists the tools that are always loaded, and ToolSearch and CallTool for
	// the others.
	DeferDispatch Deferral = "dispatch"
	// DeferLegacyList is DeferDispatch for protocols before 2026-07-28: tools that a
	// session has found are added to its list.
	DeferLegacyList Deferral = "legacy-list"
	// DeferOff lists all tools without loading hints.
	DeferOff Deferral = "off"
)

// Deferrals lists the values of Deferral.
var Deferrals = []string{string(DeferAuto), string(DeferHints), string(DeferDispatch), string(DeferLegacyList), string(DeferOff)}

// Searches reports whether clients must search for tools.
func (d Deferral) Searches() bool { return d == DeferDispatch || d == DeferLegacyList }

// ListBudget is the size in tokens up to which DeferAuto lists every tool for a client that
// does not defer tools itself.
const ListBudget = 4000

// Resolve returns the deferral for one client. It returns d unless d is DeferAuto. In that
// case a client that defers tools itself gets DeferHints, and so does every client while
// the whole list fits in ListBudget. Other clients get DeferDispatch. An upstream server
// whose tools are not known yet counts as too large, so that a small list does not grow
// without limit when the server connects.
func (c *Catalogue) Resolve(d Deferral, defers bool) Deferral {
	switch {
	case d != DeferAuto:
		return d
	case defers || c.fitsBudget():
		return DeferHints
	}
	return DeferDispatch
}

// fitsBudget reports whether the list of all tools fits in ListBudget and is complete.
func (c *Catalogue) fitsBudget() bool {
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

// AutoBudget is the size in tokens below which the tools with LoadAuto are loaded from the
// start. The tools that are always loaded count too.
const AutoBudget = 3000

// Tokens estimates the size of the definition in a model's context: name, description and
// input schema, at four bytes per token. It returns 0 if the schema is invalid.
func (t *Tool) Tokens() int {
	schema, err := t.InputSchema()
	if err != nil {
		return 0
	}
	return (len(t.Name) + len(t.Prompt) + len(schema) + 3) / 4
}

// FromStart is like Catalogue.FromStart. Its answer never changes.
func (r *Registry) FromStart() func(*Tool) bool { return r.own.FromStart() }

// FromStart returns a function that reports whether a model gets a tool from the start when
// tools are deferred. These are the tools with LoadAlways, and those with LoadAuto if both
// together are below AutoBudget. Tools of upstream servers do not count, so that they do
// not change which other tools are loaded.
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

// Listed returns the tools that tools/list shows under a deferral, in its order. loaded
// reports which other tools the session has found; nil: none.
func (r *Registry) Listed(how Deferral, loaded func(name string) bool) []*Tool {
	return r.ListedFor(nil, how, loaded)
}

// ListedFor is Listed for a profile.
func (r *Registry) ListedFor(p *session.Profile, how Deferral, loaded func(name string) bool) []*Tool {
	all := r.View(p).Tools()
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

// NameWords returns the words of a tool's name in lower case. Words end at characters other
// than letters and digits, and at the boundaries of CamelCase. The prefix "mcp__" of
// upstream tools is ignored.
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

// Unwrap returns the call that the arguments of a wrapping tool such as CallTool contain.
type Unwrap func(raw json.RawMessage) (name string, args json.RawMessage, err error)
