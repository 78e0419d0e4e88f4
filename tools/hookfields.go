package tools

import (
	"encoding/json"
	"maps"
	"unicode/utf8"
)

// maxHookText is the limit of each text in HookFields, in bytes.
const maxHookText = 256 << 10

// HookFields holds fields that hooks get in addition to a result's output. Their names are
// those that hooks written for Claude Code read in tool_response.
type HookFields map[string]any

// Text sets a field to text. It truncates a text longer than maxHookText and adds the name
// to the field "truncated".
func (f HookFields) Text(name, text string) {
	if len(text) > maxHookText {
		n := maxHookText
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
		cut, _ := f["truncated"].([]string)
		f["truncated"] = append(cut, name)
	}
	f[name] = text
}

// HookResponse returns the response for hooks: the output as JSON, with HookFields added.
// Fields of the output take precedence over HookFields of the same name. ok is false if the
// response has no output.
func (r *Response) HookResponse() (data json.RawMessage, ok bool) {
	if r.Structured == nil {
		return nil, false
	}
	data, err := r.Structured()
	if err != nil {
		return nil, false
	}
	if r.HookFields == nil {
		return data, true
	}
	var own map[string]json.RawMessage
	if json.Unmarshal(data, &own) != nil {
		return data, true // not an object
	}
	all := maps.Clone(map[string]any(r.HookFields()))
	for name, value := range own {
		all[name] = value
	}
	if more, err := json.Marshal(all); err == nil {
		data = more
	}
	return data, true
}
