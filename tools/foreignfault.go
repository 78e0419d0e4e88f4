package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
)

// The errors for arguments of an upstream tool are worded like those of our own tools. The
// JSON Schema library decides whether there is an error.

// misfit returns the error for a value that does not fit a schema; found is the library's
// error. Text from the schema is written by the upstream server, so it is shown in one
// line.
func misfit(value any, schema *jsonschema.Schema, found error) error {
	var f *Fault
	if err := (&schemaChecker{root: schema}).check(value, schema, "", 0); !errors.As(err, &f) {
		text := strings.TrimPrefix(found.Error(), "validating root: ")
		f = &Fault{Fact: "the arguments do not fit the tool's input schema: " + text, Next: "Correct them by the schema."}
	}
	return &Fault{Fact: longer(plain.Line(f.Fact)), Next: longer(plain.Line(f.Next))}
}

// schemaChecker checks the keywords of a schema that models often get wrong. It follows only what
// always applies: properties, items and references, but no alternatives.
type schemaChecker struct{ root *jsonschema.Schema }

// maxCheckDepth is the limit for the depth of values and for chains of references.
const maxCheckDepth = 50

func (f *schemaChecker) check(value any, s *jsonschema.Schema, at string, depth int) error {
	if s = f.follow(s); s == nil || depth > maxCheckDepth {
		return nil
	}
	if err := checkValueType(value, s, at); err != nil {
		return err
	}
	switch v := value.(type) {
	case map[string]any:
		return f.object(v, s, at, depth)
	case []any:
		for i, item := range v {
			if i < len(s.PrefixItems) {
				continue // Items is for the later ones
			}
			if err := f.check(item, s.Items, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
	case string:
		return checkString(v, s, at)
	case float64:
		return checkNumberValue(v, s, at)
	}
	return nil
}

// follow resolves references to definitions in the same schema. It returns nil for any
// other reference.
func (f *schemaChecker) follow(s *jsonschema.Schema) *jsonschema.Schema {
	for range maxCheckDepth {
		if s == nil || s.Ref == "" {
			return s
		}
		m := reference.FindStringSubmatch(s.Ref)
		switch {
		case m == nil:
			return nil
		case m[1] == "$defs":
			s = f.root.Defs[m[2]]
		default:
			s = f.root.Definitions[m[2]]
		}
	}
	return nil
}

func (f *schemaChecker) object(v map[string]any, s *jsonschema.Schema, at string, depth int) error {
	closed := isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if s.Properties[name] == nil && closed {
			return unknownProperty(name, s, at)
		}
	}
	for _, name := range s.Required {
		if _, given := v[name]; !given {
			return missingProperty(name, s, at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if err := f.check(v[name], s.Properties[name], join(at, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isFalse reports whether s is the form of the schema false, which no value meets.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

// typeNames maps the types of JSON Schema to their names in errors.
var typeNames = map[string]string{
	"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "an array", "object": "an object", "null": "null",
}

func checkValueType(value any, s *jsonschema.Schema, at string) error {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return hasType(value, t) }) {
		return nil
	}
	var wanted []string
	for _, t := range types {
		wanted = append(wanted, typeNames[t])
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return wrongType(at, strings.Join(wanted, " or "), raw)
}

// hasType reports whether a value has the JSON Schema type t.
func hasType(value any, t string) bool {
	switch v := value.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	}
	return t == "object"
}

func checkNumberValue(v float64, s *jsonschema.Schema, at string) error {
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		return fault.New(fmt.Sprintf("property %q is %v", at, v), fmt.Sprintf("The least is %v.", *s.Minimum))
	case s.Maximum != nil && v > *s.Maximum:
		return fault.New(fmt.Sprintf("property %q is %v", at, v), fmt.Sprintf("The most is %v.", *s.Maximum))
	}
	return nil
}
