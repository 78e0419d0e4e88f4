package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/strictjson"
)

// decodeArguments decodes the arguments of a call into in. It is strict, since the
// arguments that are judged must be the arguments that run: it rejects unknown, duplicate
// and differently cased keys, where encoding/json would silently use the last one. Only
// tolerate makes exceptions. Errors are worded for the model.
func decodeArguments(raw json.RawMessage, schema *jsonschema.Schema, in any) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		raw = json.RawMessage("{}")
	}
	if err := wellFormed(raw); err != nil {
		return err
	}
	clean, err := coerce(raw, schema, "")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(clean, in); err != nil { // tolerate has rejected unknown properties
		var typeErr *json.UnmarshalTypeError
		if errors.As(err, &typeErr) {
			return fault.New(fmt.Sprintf("property %q does not fit its type: %s", typeErr.Field, typeErr.Value), "Send a smaller value.")
		}
		return fmt.Errorf("decoding arguments: %w", err)
	}
	return nil
}

// mostDepth is the limit for the nesting of arguments. Values are decoded recursively, and a
// stack overflow ends the process.
const mostDepth = 1000

// wellFormed returns a *Fault unless raw is one JSON value that all decoders read alike.
func wellFormed(raw json.RawMessage) error {
	e, bad := errors.AsType[*strictjson.Error](strictjson.Check(raw, mostDepth))
	if !bad {
		return nil
	}
	switch e.Kind {
	case strictjson.NotUTF8:
		return fault.New("the arguments are not valid UTF-8", "Send text as UTF-8.")
	case strictjson.Surrogate:
		return fault.New("the arguments hold half of a surrogate pair, "+e.Found, "Send the whole character, or leave it out.")
	case strictjson.Duplicate:
		return fault.New(fmt.Sprintf("property %s is given twice", clip([]byte(fmt.Sprintf("%q", e.Path)))), "Give it once.")
	case strictjson.TooDeep:
		return fault.New(fmt.Sprintf("the arguments are nested more than %d deep", mostDepth), "Send a flatter value.")
	case strictjson.Trailing:
		return fault.New("the arguments go on after their closing brace", "Send one JSON object.")
	}
	return fault.New("the arguments are not valid JSON: "+e.Place()+": "+e.Fact("the text"), "Send one JSON object.")
}

// coerce checks a well-formed value against its schema and returns it in the form that the schema
// requires. It is the only place that corrects common mistakes of models: "10" for 10,
// "true" for true, 1.0 for 1, 3 for the id "3", "[1]" for [1], and null for an absent optional
// property.
func coerce(raw json.RawMessage, s *jsonschema.Schema, at string) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if open := map[string]string{"array": "[", "object": "{"}[s.Type]; open != "" && at != "" && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if inner := json.RawMessage(strings.TrimSpace(text)); strings.HasPrefix(string(inner), open) && wellFormed(inner) == nil {
			raw = inner
		}
	}
	switch s.Type {
	case "object":
		return coerceObject(raw, s, at)
	case "array":
		return coerceArray(raw, s, at)
	case "string":
		if isID(at) && wholeNumber.Match(raw) {
			raw = json.RawMessage(`"` + string(raw) + `"`)
		}
		if raw[0] != '"' {
			return nil, wrongType(at, "a string", raw)
		}
		if s.MinLength == nil && s.MaxLength == nil && len(s.Enum) == 0 {
			return raw, nil
		}
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, wrongType(at, "a string", raw)
		}
		return raw, checkString(v, s, at)
	case "boolean":
		switch string(raw) {
		case "true", "false":
			return raw, nil
		case `"true"`, `"false"`:
			return raw[1 : len(raw)-1], nil
		}
		return nil, wrongType(at, "true or false", raw)
	case "integer", "number":
		return coerceNumber(raw, s, at)
	}
	return nil, fmt.Errorf("schema of %s has type %q", at, s.Type)
}

func coerceObject(raw json.RawMessage, s *jsonschema.Schema, at string) (json.RawMessage, error) {
	if raw[0] != '{' {
		return nil, wrongType(at, "an object", raw)
	}
	if open := s.AdditionalProperties; open != nil && open.Not == nil {
		return raw, nil
	}
	list, err := strictjson.Members(raw)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	values := make([]json.RawMessage, len(list)) // nil: omitted
	same := true
	for i, m := range list {
		name, value := m.Key, json.RawMessage(raw[m.From:m.To])
		prop := s.Properties[name]
		if prop == nil {
			return nil, unknownProperty(name, s, at)
		}
		seen[name] = true
		if string(value) == "null" && !slices.Contains(s.Required, name) {
			same = false
			continue
		}
		var err error
		if values[i], err = coerce(value, prop, join(at, name)); err != nil {
			return nil, err
		}
		same = same && len(values[i]) == len(value) && &values[i][0] == &value[0]
	}
	for _, name := range s.Required {
		if !seen[name] {
			return nil, missingProperty(name, s, at)
		}
	}
	if same { // the usual case for large inputs: no copy
		return raw, nil
	}
	out := []byte{'{'}
	for i, value := range values {
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(list[i].Key)
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

func coerceArray(raw json.RawMessage, s *jsonschema.Schema, at string) (json.RawMessage, error) {
	var items []json.RawMessage
	if raw[0] != '[' {
		return nil, wrongType(at, "an array", raw)
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	switch n := len(items); {
	case s.MinItems != nil && n < *s.MinItems:
		return nil, fault.New(fmt.Sprintf("property %q has %d items", at, n), fmt.Sprintf("The least is %d.", *s.MinItems))
	case s.MaxItems != nil && n > *s.MaxItems:
		return nil, fault.New(fmt.Sprintf("property %q has %d items", at, n), fmt.Sprintf("The most is %d.", *s.MaxItems))
	}
	for i, item := range items {
		var err error
		if items[i], err = coerce(item, s.Items, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}

func coerceNumber(raw json.RawMessage, s *jsonschema.Schema, at string) (json.RawMessage, error) {
	want := map[string]string{"integer": "a whole number", "number": "a number"}[s.Type]
	text := string(raw)
	if len(text) > 1 && text[0] == '"' {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	n, err := strconv.ParseFloat(text, 64)
	// JSON has no hexadecimal numbers, underscores, Inf or NaN; ParseFloat accepts them.
	if err != nil || strings.Trim(text, "0123456789+-.eE") != "" {
		return nil, wrongType(at, want, raw)
	}
	if s.Type == "integer" {
		if n != math.Trunc(n) {
			return nil, wrongType(at, want, raw)
		}
		if math.Abs(n) >= 1<<53 {
			return nil, fault.New(fmt.Sprintf("property %q is out of range: %s", at, clip(raw)), "Send a smaller number.")
		}
		text = strconv.FormatInt(int64(n), 10)
	} else {
		text = strconv.FormatFloat(n, 'g', -1, 64)
	}
	switch {
	case s.Minimum != nil && n < *s.Minimum:
		return nil, fault.New(fmt.Sprintf("property %q is %s", at, text), fmt.Sprintf("The least is %v.", *s.Minimum))
	case s.Maximum != nil && n > *s.Maximum:
		return nil, fault.New(fmt.Sprintf("property %q is %s", at, text), "The most is "+strconv.FormatFloat(*s.Maximum, 'f', -1, 64)+".")
	}
	return json.RawMessage(text), nil
}

func checkString(v string, s *jsonschema.Schema, at string) error {
	if s.MinLength != nil && utf8.RuneCountInString(v) < *s.MinLength {
		if *s.MinLength == 1 {
			return fault.New(fmt.Sprintf("property %q is empty", at), "Give it a value.")
		}
		return fault.New(fmt.Sprintf("property %q is too short", at), fmt.Sprintf("It needs at least %d characters.", *s.MinLength))
	}
	if s.MaxLength != nil {
		if n := utf8.RuneCountInString(v); n > *s.MaxLength {
			return fault.New(fmt.Sprintf("property %q has %d characters", at, n), fmt.Sprintf("The most is %d.", *s.MaxLength))
		}
	}
	if len(s.Enum) == 0 || slices.Contains(s.Enum, any(v)) {
		return nil
	}
	words := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		words[i] = fmt.Sprint(e)
	}
	return fault.New(fmt.Sprintf("property %q is %s", at, clip([]byte(strconv.Quote(v)))), "Use one of: "+strings.Join(words, ", ")+".")
}

// wholeNumber matches a number that may stand for an id.
var wholeNumber = regexp.MustCompile(`^[0-9]{1,15}$`)

// idProperty matches the names of properties that hold ids or numbers of calls.
var idProperty = regexp.MustCompile(`(?:^|[._])ids?$|[a-z](?:Id|Ids)$|(?:^|\.)since$|(?:^|\.)(?:addBlocks|addBlockedBy)\[\d+\]$`)

// isID reports whether the property at a place holds an id.
func isID(at string) bool { return idProperty.MatchString(at) }

func unknownProperty(name string, s *jsonschema.Schema, at string) error {
	names := propertyNames(s)
	next := "Known properties: " + propertyList(s) + "."
	near := slices.DeleteFunc(slices.Clone(otherProperties[fold(name)]), func(n string) bool { return s.Properties[n] == nil })
	if len(near) == 0 {
		near = nearest.Names(name, names, 1)
	}
	switch {
	case len(near) > 0:
		next = fmt.Sprintf("Did you mean %q? %s", near[0], next)
	case s.Properties["command"] != nil && slices.Contains([]string{"workdir", "cwd", "directory", "dir", "dirpath", "folder"}, fold(name)):
		next = "Begin the command with cd and the folder. " + next
	}
	return fault.New(fmt.Sprintf("unknown property %s", clip([]byte(strconv.Quote(join(at, name))))), next)
}

func missingProperty(name string, s *jsonschema.Schema, at string) error {
	return fault.New(fmt.Sprintf("required property %q is missing", join(at, name)), "Add it. Known properties: "+propertyList(s)+".")
}

func propertyNames(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func propertyList(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "none"
	}
	return strings.Join(propertyNames(s), ", ")
}

func wrongType(at, want string, got json.RawMessage) error {
	if at == "" {
		return fault.New("the arguments are not "+want, "Send a JSON object.")
	}
	return fault.New(fmt.Sprintf("property %q is %s", at, clip(got)), "Send "+want+".")
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// clip truncates a value for an error text.
func clip(raw []byte) string { return shorten(string(raw), 60) }

// longer truncates as clip does, to a higher limit. It is for lists and for texts from a
// schema, which contain the place of the error.
func longer(s string) string { return shorten(s, 300) }

// shorten truncates a text to most characters and marks the cut with an ellipsis.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
