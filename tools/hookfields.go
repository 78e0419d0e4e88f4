package tools

import (
	"encoding/json"
	"maps"
	"unicode/utf8"
)

// maxHookText bounds each text of HookFields, in bytes.
const maxHookText = 256 << 10

// HookFields are what hooks get of a result beside its output, as hooks that were
// written for Claude Code read it from tool_response.
type HookFields map[string]any

// Text sets a field to a text. Of one that is too long the beginning is given, and
// the field "truncated" names it.
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

// HookResponse returns the response as hooks get it: the output as JSON with
// HookFields beside it, where the output has no field of the same name. ok is false
// if the response has no output.
func (r *Response) HookResponse() (data json.RawMessage, ok bool) {
	if r.Structured == nil {
		return nil, false
	}
	data, err := r.Structured()
	if err != nil {
		return nil, false
	}
	if len(r.HookFields) == 0 {
		return data, true
	}
	var own map[string]json.RawMessage
	if json.Unmarshal(data, &own) != nil {
		return data, true // no object
	}
	all := maps.Clone(map[string]any(r.HookFields))
	for name, value := range own {
		all[name] = value
	}
	if more, err := json.Marshal(all); err == nil {
		data = more
	}
	return data, true
}
