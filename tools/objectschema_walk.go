package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaWalk checks the keywords of a schema, which the JSON Schema library does only in part.
type schemaWalk struct {
	root     map[string]any
	draft7   bool
	followed map[string]bool // references; false while their target is checked
	refers   bool            // whether there are references
}

// The keywords whose values are a schema, a list of schemas, or an object of schemas.
var (
	schemaKeywords = []string{"additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	listKeywords   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	objectKeywords = []string{"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)

// schema checks a schema at a place. It ignores unknown keywords, as JSON Schema requires.
func (w *schemaWalk) schema(v any, at string) error {
	if _, ok := v.(bool); ok {
		return nil
	}
	node, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: a schema is an object, true or false", at)
	}
	for _, name := range slices.Sorted(maps.Keys(node)) {
		if err := w.keyword(name, node[name], at+"/"+pointer(name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *schemaWalk) keyword(name string, v any, at string) error {
	list, isList := v.([]any)
	node, isObject := v.(map[string]any)
	switch {
	case slices.Contains(listKeywords, name), name == "items" && isList && w.draft7:
		if len(list) == 0 {
			return fmt.Errorf("%s: it is not a list of schemas", at)
		}
		for i, item := range list {
			if err := w.schema(item, fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	case slices.Contains(schemaKeywords, name):
		return w.schema(v, at)
	case slices.Contains(objectKeywords, name):
		if !isObject {
			return fmt.Errorf("%s: it is not an object", at)
		}
		for _, key := range slices.Sorted(maps.Keys(node)) {
			if err := w.schema(node[key], at+"/"+pointer(key)); err != nil {
				return err
			}
			if _, err := regexp.Compile(key); name == "patternProperties" && err != nil {
				return fmt.Errorf("%s/%s: %w; patterns have the syntax of RE2", at, pointer(key), err)
			}
		}
	case slices.Contains(otherReferences, name) && name != "id", name == "$vocabulary", name == "dependencies":
		return fmt.Errorf("%s: the keyword is not supported", at)
	case name == "$ref":
		return w.reference(v, at)
	default:
		return checkKeyword(name, v, at)
	}
	return nil
}

// checkKeyword checks a keyword without schemas in its value.
func checkKeyword(name string, v any, at string) error {
	one, err := json.Marshal(map[string]any{name: v})
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(one, &s); err != nil || name == "enum" && len(s.Enum) == 0 {
		return fmt.Errorf("%s: the keyword does not take this value", at)
	}
	if name == "type" {
		for _, t := range append(s.Types, s.Type) {
			if typeNames[t] == "" && (t != "" || len(s.Types) == 0) {
				return fmt.Errorf("%s: there is no type %s; the types are %s", at, clip(fmt.Appendf(nil, "%q", t)), strings.Join(slices.Sorted(maps.Keys(typeNames)), ", "))
			}
		}
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		return fmt.Errorf("%s: %w; patterns have the syntax of RE2", at, err)
	}
	return nil
}

func pointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// reference checks a reference and its target.
func (w *schemaWalk) reference(v any, at string) error {
	to, _ := v.(string)
	target, ok := w.target(to)
	if !ok {
		return fmt.Errorf("%s: there is no %s; only definitions below #/$defs and #/definitions can be referred to", at, clip(fmt.Appendf(nil, "%q", fmt.Sprint(v))))
	}
	w.refers = true
	done, known := w.followed[to]
	switch {
	case known && !done:
		return fmt.Errorf("%s: the schema refers to itself, which is not supported", at)
	case known:
		return nil
	}
	w.followed[to] = false
	if err := w.schema(target, to); err != nil {
		return err
	}
	w.followed[to] = true
	return nil
}

func (w *schemaWalk) target(to string) (any, bool) {
	m := reference.FindStringSubmatch(to)
	if m == nil {
		return nil, false
	}
	defs, _ := w.root[m[1]].(map[string]any)
	target, ok := defs[m[2]]
	return target, ok
}

// values lists keywords that hold values, in which nothing is a reference.
var values = []string{"const", "default", "enum", "examples"}

// notes lists keywords that do not restrict values, so that they can stand in the place of those of a target.
var notes = []string{"$comment", "default", "deprecated", "description", "examples", "title"}

// inline returns a copy of a schema in which references are replaced by their targets.
func (w *schemaWalk) inline(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = w.inline(item)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			if slices.Contains(values, name) {
				out[name] = item
			} else if name != "$ref" && !w.isDefinitions(v, name) {
				out[name] = w.inline(item)
			}
		}
		to, ok := v["$ref"].(string)
		if !ok {
			if item, other := v["$ref"]; other { // a property of this name
				out["$ref"] = w.inline(item)
			}
			return out
		}
		target, _ := w.target(to)
		return w.merge(w.inline(target), out)
	}
	return v
}

// isDefinitions reports whether name is a key of the root whose value is only referred to.
func (w *schemaWalk) isDefinitions(node map[string]any, name string) bool {
	return (name == "$defs" || name == "definitions") && same(node, w.root)
}

func same(a, b map[string]any) bool {
	return fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b)
}

// merge returns a schema that requires both what a target and what the keywords beside its
// reference require. Draft 7 ignores the latter.
func (w *schemaWalk) merge(target any, beside map[string]any) any {
	of, ok := target.(map[string]any)
	restricts := slices.ContainsFunc(slices.Collect(maps.Keys(beside)), func(name string) bool { return !slices.Contains(notes, name) })
	if !ok && !restricts {
		return target
	}
	if ok && (!restricts || w.draft7) {
		out := maps.Clone(of)
		for name, item := range beside {
			if slices.Contains(notes, name) {
				out[name] = item
			}
		}
		return out
	}
	all, _ := beside["allOf"].([]any)
	beside["allOf"] = append(slices.Clone(all), target)
	return beside
}

// unmet returns an error if it is plain that no value meets a schema. It looks at what each value
// has to meet: required properties, but no optional ones. Keywords for one type count only if
// the schema has that type, as values of others meet them.
func unmet(s *jsonschema.Schema, at string) error {
	switch {
	case s == nil:
		return nil
	case isFalse(s):
		return fmt.Errorf("%s: no value meets it", at)
	}
	for _, pair := range []struct {
		kind, name  string
		least, most *int
	}{{"string", "Length", s.MinLength, s.MaxLength}, {"array", "Items", s.MinItems, s.MaxItems}, {"object", "Properties", s.MinProperties, s.MaxProperties}} {
		if s.Type == pair.kind && pair.least != nil && pair.most != nil && *pair.least > *pair.most {
			return fmt.Errorf("%s/min%s: no value meets it: %d is more than max%s, %d", at, pair.name, *pair.least, pair.name, *pair.most)
		}
	}
	if number := s.Type == "number" || s.Type == "integer"; number && s.Minimum != nil && s.Maximum != nil && *s.Minimum > *s.Maximum {
		return fmt.Errorf("%s/minimum: no value meets it: %v is more than maximum, %v", at, *s.Minimum, *s.Maximum)
	}
	fixed := s.Enum
	place := "/enum"
	if s.Const != nil {
		fixed, place = []any{*s.Const}, "/const"
	}
	if len(fixed) > 0 && !slices.ContainsFunc(fixed, func(v any) bool { return (&schemaChecker{root: s}).check(v, s, "", 0) == nil }) {
		return fmt.Errorf("%s%s: no value meets it: none of these fits the rest of the schema", at, place)
	}
	return unmetParts(s, at)
}

// unmetParts is unmet for the parts of a value and for the members of allOf, anyOf and oneOf.
func unmetParts(s *jsonschema.Schema, at string) error {
	switch s.Type {
	case "object":
		closed := isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0
		for _, name := range s.Required {
			p := s.Properties[name]
			if p == nil && closed {
				return fmt.Errorf("%s/required: no value meets it: %q is required, and additionalProperties excludes it", at, name)
			}
			if err := unmet(p, at+"/properties/"+pointer(name)); err != nil {
				return err
			}
		}
	case "array":
		if s.MinItems != nil && *s.MinItems > len(s.PrefixItems) {
			if err := unmet(s.Items, at+"/items"); err != nil {
				return err
			}
		}
	}
	for i, member := range s.AllOf {
		place := fmt.Sprintf("%s/allOf/%d", at, i)
		if err := unmet(member, place); err != nil {
			return err
		}
		if s.Type != "" && member.Type != "" && s.Type != member.Type && s.Type+member.Type != "numberinteger" && s.Type+member.Type != "integernumber" {
			return fmt.Errorf("%s/type: no value meets it: the type is also %s", place, s.Type)
		}
	}
	for name, members := range map[string][]*jsonschema.Schema{"anyOf": s.AnyOf, "oneOf": s.OneOf} {
		var first error
		for i, member := range members {
			err := unmet(member, fmt.Sprintf("%s/%s/%d", at, name, i))
			if err == nil {
				first = nil
				break
			}
			if first == nil {
				first = err
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}
