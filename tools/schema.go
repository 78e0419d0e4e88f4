package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// makeSchemas makes both schemas of a tool and checks that every client accepts them:
// closed objects, one type per value, a description for every property, and no references
// or combinators, which Gemini models reject. A property of type map[string]any is an
// object that allows any property.
func makeSchemas[In, Out any](tool string, in, out *jsonschema.Schema) (*schemas, error) {
	var err error
	if in == nil {
		if in, err = inferSchema(reflect.TypeFor[In]()); err != nil {
			return nil, fmt.Errorf("tool %s: input schema: %w", tool, err)
		}
	}
	if out == nil {
		if out, err = inferSchema(reflect.TypeFor[Out]()); err != nil {
			return nil, fmt.Errorf("tool %s: output schema: %w", tool, err)
		}
	}
	s := &schemas{in: in}
	if s.defaults, err = defaultValues(in, reflect.TypeFor[In]()); err != nil {
		return nil, fmt.Errorf("tool %s: input schema: %w", tool, err)
	}
	for _, name := range in.Required {
		if in.Properties[name].Type == "string" {
			s.firstStringProp = name
			break
		}
	}
	if s.rawIn, err = portable(in); err != nil {
		return nil, fmt.Errorf("tool %s: input schema: %w", tool, err)
	}
	if s.rawOut, err = portable(out); err != nil {
		return nil, fmt.Errorf("tool %s: output schema: %w", tool, err)
	}
	return s, nil
}

// inferSchema makes a schema from a struct type. The `json` tag marks optional properties
// (omitempty, omitzero or a default), and the `jsonschema` tag holds the description. Further tags are
// `enum:"a,b"`, `minimum:"1"`, `maximum:"9"`, `minLength:"1"`, `maxLength:"9"` (in characters), `minItems:"1"`,
// `maxItems:"9"` and `default:"json"`.
func inferSchema(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, err
	}
	return s, annotate(s, t)
}

// annotate adds the constraints in the tags of t to the schema inferred from t. It removes
// the type "null": null for an absent property is accepted but not offered.
func annotate(s *jsonschema.Schema, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s.Type == "" && len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if s.Items != nil {
		return annotate(s.Items, t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _ := jsonName(f)
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if err := annotate(p, f.Type); err != nil {
			return err
		}
		if err := constrain(p, f.Tag); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		if p.Default != nil {
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
		}
	}
	return nil
}

// jsonName returns the name of a field's property, and whether zero values are omitted.
func jsonName(f reflect.StructField) (name string, omitted bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, strings.Contains(options, "omit")
}

func constrain(p *jsonschema.Schema, tag reflect.StructTag) error {
	if v, ok := tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(v, ",") {
			p.Enum = append(p.Enum, word)
		}
	}
	for key, field := range map[string]**float64{"minimum": &p.Minimum, "maximum": &p.Maximum} {
		if v, ok := tag.Lookup(key); ok {
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return fmt.Errorf("tag %s: %w", key, err)
			}
			*field = &n
		}
	}
	for key, field := range map[string]**int{"minLength": &p.MinLength, "maxLength": &p.MaxLength, "minItems": &p.MinItems, "maxItems": &p.MaxItems} {
		if v, ok := tag.Lookup(key); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				return fmt.Errorf("tag %s: %w", key, err)
			}
			*field = &n
		}
	}
	if v, ok := tag.Lookup("default"); ok {
		if !json.Valid([]byte(v)) {
			return fmt.Errorf("tag default: %s is not JSON", v)
		}
		p.Default = json.RawMessage(v)
	}
	return nil
}

// portableKeys lists the only keywords that our schemas use.
var portableKeys = []string{
	"type", "properties", "required", "additionalProperties", "description",
	"enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "items", "default",
}

// portable encodes a schema. It rejects a schema that some client cannot read.
func portable(s *jsonschema.Schema) (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	if tree["type"] != "object" {
		return nil, fmt.Errorf("the root has type %v, not object", tree["type"])
	}
	return raw, checkPortable(tree, "")
}

func checkPortable(node map[string]any, at string) error {
	for key := range node {
		if !slices.Contains(portableKeys, key) {
			return fmt.Errorf("%s: keyword %q is not understood by every client", orRoot(at), key)
		}
	}
	if _, one := node["type"].(string); !one {
		return fmt.Errorf("%s: type is %v, not one name", orRoot(at), node["type"])
	}
	items, ok := node["items"].(map[string]any)
	if node["type"] == "array" && !ok {
		return fmt.Errorf("%s: an array must say what its items are", orRoot(at))
	}
	if ok {
		if err := checkPortable(items, at+"[]"); err != nil {
			return err
		}
	}
	if node["type"] != "object" {
		return nil
	}
	props, _ := node["properties"].(map[string]any)
	if open := at != "" && len(props) == 0 && node["additionalProperties"] == true; !open && node["additionalProperties"] != false {
		return fmt.Errorf("%s: an object must be closed", orRoot(at))
	}
	for name, p := range props {
		sub, ok := p.(map[string]any)
		if !ok || sub["description"] == nil || sub["description"] == "" {
			return fmt.Errorf("%s: property %q has no description", orRoot(at), name)
		}
		if err := checkPortable(sub, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func orRoot(at string) string {
	if at == "" {
		return "root"
	}
	return strings.TrimPrefix(at, ".")
}
