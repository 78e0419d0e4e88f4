package server

// Forms of upstream servers are shown to the client's user here. The user's
// model made the call, but the author of the form is unknown. So the text must
// make plain that the upstream server asks, whatever the form contains.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
	"mcp-toolset/tools"
)

// Limits of a form of an upstream server.
const (
	maxMessage = 4000     // characters of the message as shown; users do not read more
	maxSchema  = 16 << 10 // bytes of the schema; forms that a user can fill in are smaller
)

// formKey is the key of the question of an upstream server.
const formKey = "form"

// foreign returns the question for a form of an upstream server or of a tool. The form's
// schema must be flat.
func foreign(f tools.Form) question {
	message := f.Message
	if f.Server != "" {
		message = fmt.Sprintf("The server %s asks (in a call of %s):\n%s", plain.Line(f.Server), plain.Line(f.Tool), quoted(f.Message))
	}
	form := mcp.ElicitationParams{Message: message, RequestedSchema: f.Schema}
	return newQuestion(formKey, form, []byte(f.Server), []byte(f.Tool), []byte(f.Message), f.Schema)
}

// withoutTexts returns a form of a tool of ours with only its choices. The user gives another
// answer by closing the form.
func withoutTexts(schema json.RawMessage) json.RawMessage {
	var form struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return schema
	}
	maps.DeleteFunc(form.Properties, func(_ string, p map[string]any) bool { return p["type"] == "string" && p["enum"] == nil })
	choices, err := json.Marshal(form)
	if err != nil || len(form.Properties) == 0 {
		return schema
	}
	return choices
}

// quoted marks each line of a message, so that none looks like a line of ours.
func quoted(message string) string {
	head := message[:offset(message, maxMessage)]
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(head, "\r\n"), "\n") {
		b.WriteString("\n> " + plain.Text(strings.TrimSuffix(line, "\r")))
	}
	text := b.String()[1:]
	if end := offset(text, maxMessage); end < len(text) || len(head) < len(message) {
		text = text[:end] + "\n[The message is longer. The rest is not shown.]"
	}
	return text
}

// formReply converts the result of an elicitation for the upstream server. An
// invalid answer counts as cancel.
func formReply(result json.RawMessage) tools.FormReply {
	action, content := readAnswer(result)
	switch action {
	case mcp.ElicitationResponseActionAccept:
		if len(content) == 0 || string(content) == "null" {
			return tools.FormReply{Action: string(action)}
		}
		if content[0] == '{' {
			return tools.FormReply{Action: string(action), Content: content}
		}
	case mcp.ElicitationResponseActionDecline:
		return tools.FormReply{Action: string(action)}
	}
	return tools.FormReply{Action: string(mcp.ElicitationResponseActionCancel)}
}

var (
	schemaKeys   = strictjson.NewKeys("type", "properties", "required")
	propertyKeys = strictjson.NewKeys("type", "items", "enum", "oneOf", "anyOf")
)

// flat reports whether a schema is a form as the protocol defines it: an object
// of single values and choices, within maxSchema. Clients are shown no other
// schema.
func flat(schema json.RawMessage) bool {
	if len(schema) > maxSchema || !utf8.Valid(schema) || !shows(schema) {
		return false
	}
	root, err := schemaKeys.Fields(schema)
	if err != nil || string(root["type"]) != `"object"` {
		return false
	}
	properties, err := strictjson.Keys(nil).Fields(root["properties"])
	if err != nil {
		return false
	}
	for _, p := range properties {
		if !field(p, "string", "number", "integer", "boolean", "array") {
			return false
		}
	}
	for key, v := range root {
		if key != "properties" && key != "$schema" && (strings.HasPrefix(key, "$") || !scalars(v)) {
			return false
		}
	}
	return true
}

// shows reports whether all text in a schema is plain and visible. This matters
// because its titles appear next to our text.
func shows(schema json.RawMessage) bool {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return false
	}
	return allText(v, func(s string) bool { return plain.Line(s) == s })
}

func allText(v any, ok func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return ok(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !allText(item, ok) })
	case map[string]any:
		for key, item := range v {
			if !ok(key) || !allText(item, ok) {
				return false
			}
		}
	}
	return true
}

// field reports whether a schema describes a value of one of the types. If
// types contains "" (no type), the schema is that of an array's items, which
// must list their values.
func field(schema json.RawMessage, types ...string) bool {
	f, err := propertyKeys.Fields(schema)
	if err != nil {
		return false
	}
	var is string
	if given := f["type"]; given != nil && json.Unmarshal(given, &is) != nil || !slices.Contains(types, is) || (is == "array") != (f["items"] != nil) {
		return false
	}
	if slices.Contains(types, "") && f["enum"] == nil && f["oneOf"] == nil && f["anyOf"] == nil {
		return false
	}
	for key, v := range f {
		switch {
		case key == "items":
			if !field(v, "string", "") {
				return false
			}
		case key == "oneOf" || key == "anyOf":
			if !choices(v) {
				return false
			}
		case strings.HasPrefix(key, "$") || !scalars(v):
			return false
		}
	}
	return true
}

// choices reports whether a value is a list of values with titles.
func choices(raw json.RawMessage) bool {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return false
	}
	for _, c := range list {
		if c["const"] == nil {
			return false
		}
		for _, v := range c {
			if !scalars(v) {
				return false
			}
		}
	}
	return true
}

// scalars reports whether a value is a single value or a list of single values.
func scalars(raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return !slices.ContainsFunc(list, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	})
}
