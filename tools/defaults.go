package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// defaultValues returns the defaults of a schema's properties as a JSON object, which is
// decoded into an input before the arguments. It returns an error for a default that would
// not be applied as the schema promises it.
func defaultValues(s *jsonschema.Schema, in reflect.Type) (json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for name, p := range s.Properties {
		if nestedDefault(p) {
			return nil, fmt.Errorf("property %q: only properties of the input itself have a default", name)
		}
		if p.Default == nil {
			continue
		}
		if err := checkDefault(s, name, in); err != nil {
			return nil, fmt.Errorf("property %q: %w", name, err)
		}
		values[name] = p.Default
	}
	if len(values) == 0 {
		return nil, nil
	}
	return json.Marshal(values)
}

// applyDefaults sets the properties of an empty input that have a default. Decoding the
// arguments then replaces those that the call gives.
func (s *schemas) applyDefaults(in any) error {
	if s.defaults == nil {
		return nil
	}
	return json.Unmarshal(s.defaults, in)
}

// checkDefault checks the default of a property. The input is encoded for hooks and decoded
// again with their changes, so the zero value must not be left out of the encoding where it
// differs from the default.
func checkDefault(s *jsonschema.Schema, name string, in reflect.Type) error {
	p := s.Properties[name]
	if slices.Contains(s.Required, name) {
		return errors.New("a required property has no default")
	}
	if _, err := coerce(p.Default, p, name); err != nil {
		return fmt.Errorf("the default is not valid: %w", err)
	}
	v := reflect.New(in).Elem()
	given, err := json.Marshal(map[string]json.RawMessage{name: p.Default})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(given, v.Addr().Interface()); err != nil {
		return err
	}
	for _, f := range reflect.VisibleFields(in) {
		if key, omitted := jsonName(f); key == name && omitted && f.Type.Kind() != reflect.Pointer && !v.FieldByIndex(f.Index).IsZero() && zeroIsValid(p) {
			return errors.New("omitempty would turn the zero value into the default")
		}
	}
	return nil
}

// zeroIsValid reports whether the zero value of a property's type is a valid value.
func zeroIsValid(p *jsonschema.Schema) bool {
	if p.Type == "string" {
		return len(p.Enum) == 0 && p.MinLength == nil
	}
	return p.Minimum == nil || *p.Minimum <= 0
}

// nestedDefault reports whether a schema below p has a default.
func nestedDefault(p *jsonschema.Schema) bool {
	if p.Items != nil && (p.Items.Default != nil || nestedDefault(p.Items)) {
		return true
	}
	for _, q := range p.Properties {
		if q.Default != nil || nestedDefault(q) {
			return true
		}
	}
	return false
}
