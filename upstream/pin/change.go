package pin

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Change describes how a tool differs from its definition when the user last
// looked. Definitions are in canonical form and contain only the pinned parts.
type Change struct {
	Tool string
	Was  json.RawMessage // nil for a new tool
	Is   json.RawMessage // nil for a removed tool
}

// Field describes one part of a definition that changed.
type Field struct {
	Name string          // the key, such as inputSchema
	Was  json.RawMessage // nil if there was none
	Is   json.RawMessage // nil if there is none
}

// Phrase describes the change in a few words, without any text of the server:
// "its input schema and annotations changed since the user last looked".
func (c Change) Phrase() string {
	const since = " since the user last looked"
	switch {
	case c.Was == nil:
		return "it is new" + since
	case c.Is == nil:
		return "it is gone" + since
	}
	var words []string
	for _, f := range c.Fields() {
		for _, p := range pinned {
			if p.key == f.Name {
				words = append(words, p.words)
			}
		}
	}
	if last := len(words) - 1; last > 0 {
		words = append(words[:last-1], words[last-1]+" and "+words[last])
	}
	return "its " + strings.Join(words, ", ") + " changed" + since
}

// Fields returns the parts that differ, in a fixed order. For a new tool these
// are all its parts except the name.
func (c Change) Fields() []Field {
	was, is := parts(c.Was), parts(c.Is)
	var out []Field
	for i, p := range pinned {
		if !bytes.Equal(was[i], is[i]) && (c.Was != nil && c.Is != nil || p.key != "name") {
			out = append(out, Field{p.key, was[i], is[i]})
		}
	}
	return out
}

// parts returns the values of a definition, indexed like pinned. If a key has
// unusual case or is duplicate, the part is an object of all members that may
// be read as its value.
func parts(form json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(pinned))
	if form == nil {
		return out
	}
	all := make([][]member, len(pinned))
	list, _ := members(form) // a form is an object
	for _, m := range list {
		i := m.part()
		all[i] = append(all[i], m)
	}
	for i, list := range all {
		switch {
		case len(list) == 0:
		case len(list) == 1 && list[0].key == pinned[i].key:
			out[i] = list[0].value
		default:
			out[i] = object(list)
		}
	}
	return out
}
