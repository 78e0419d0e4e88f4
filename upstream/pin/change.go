package pin

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Change is how a tool differs from what a person last saw of it. Definitions
// are in canonical form and have only what is compared.
type Change struct {
	Tool string
	Was  json.RawMessage // nil: it is new
	Is   json.RawMessage // nil: it is gone
}

// Field is one part of a definition that changed.
type Field struct {
	Name string          // inputSchema
	Was  json.RawMessage // nil: there was none
	Is   json.RawMessage // nil: there is none
}

// Phrase says what changed in a few words that hold nothing of the server's own:
// "its input schema and annotations changed since a person last looked".
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

// Fields are the parts that differ, in a fixed order. Of a new tool that is all
// it has but for its name.
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

// parts are the values of a definition, each at the place of its key in pinned.
// Where a key is written otherwise or stands more than once, the part is an
// object of all that may be read as its value.
func parts(form json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(pinned))
	if form == nil {
		return out
	}
	all := make([][]member, len(pinned))
	for _, m := range members(form) {
		i := m.part()
		all[i] = append(all[i], m)
	}
	for i, list := range all {
		switch {
		case len(list) == 0:
		case len(list) == 1 && string(list[0].key) == `"`+pinned[i].key+`"`:
			out[i] = list[0].value
		default:
			out[i] = object(list)
		}
	}
	return out
}
