package settings

import (
	"encoding/json"
	"fmt"
	"strings"
)

// schemaURL identifies the dialect of the schema.
const schemaURL = "http://json-schema.org/draft-07/schema#"

// schema holds a JSON Schema, with the keywords that the settings need. Editors read draft 7.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	// Other is the schema of keys that Properties does not have; false: there are none.
	Other any `json:"additionalProperties,omitempty"`
}

// Schema returns the JSON Schema of a settings file, made of Keys.
func Schema() []byte {
	top := &schema{Schema: schemaURL, Title: "Settings of mcp-toolset", Type: "object"}
	for _, k := range Keys() {
		top.at(strings.Split(k.Name, ".")).describe(k)
	}
	top.close()
	out, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		panic(err) // it has no value that cannot be encoded
	}
	return append(out, '\n')
}

// at returns the schema at a path of keys, and makes the objects above it.
func (s *schema) at(path []string) *schema {
	if len(path) == 0 {
		return s
	}
	s = s.object()
	name, list := strings.CutSuffix(path[0], "[]")
	next := &schema{}
	if free(name) {
		if there, ok := s.Other.(*schema); ok {
			next = there
		}
		s.Other = next
	} else {
		if s.Properties == nil {
			s.Properties = map[string]*schema{}
		}
		if there := s.Properties[name]; there != nil {
			next = there
		}
		s.Properties[name] = next
	}
	if list {
		next.Type = "array"
		if next.Items == nil {
			next.Items = &schema{}
		}
		next = next.Items
	}
	return next.at(path[1:])
}

// free reports whether a key stands for any name, as in mcpServers.<name>.
func free(name string) bool { return strings.HasPrefix(name, "<") }

// object returns the part of the schema that describes an object.
func (s *schema) object() *schema {
	for _, a := range s.AnyOf {
		if a.Type == "object" {
			return a
		}
	}
	s.Type = "object"
	return s
}

// describe sets the meaning and the values of a key. Its values are alternatives with commas
// between them: names of types, true and false, or texts in quotes.
func (s *schema) describe(k Key) {
	s.Description = k.Meaning
	var types []*schema
	var texts []string
	for value := range strings.SplitSeq(k.Value, ", ") {
		switch value {
		case "true":
			types = append(types, &schema{Type: "boolean"})
		case "false":
		case "string", "object", "array":
			types = append(types, &schema{Type: value})
		case "seconds", "milliseconds", "number":
			types = append(types, &schema{Type: "number"})
		case "array of strings", "array of rules":
			types = append(types, &schema{Type: "array", Items: &schema{Type: "string"}})
		default:
			text, ok := strings.CutPrefix(strings.TrimSuffix(value, `"`), `"`)
			if !ok {
				panic(fmt.Sprintf("the key %s has the value %s, which is no type", k.Name, value))
			}
			texts = append(texts, text)
		}
	}
	if texts != nil {
		types = append(types, &schema{Type: "string", Enum: texts})
	}
	if len(types) > 1 {
		s.AnyOf = types
		return
	}
	s.Type, s.Enum, s.Items = types[0].Type, types[0].Enum, types[0].Items
}

// close refuses unknown keys of the objects whose keys are described.
func (s *schema) close() {
	if s == nil {
		return
	}
	if s.Properties != nil && s.Other == nil {
		s.Other = false
	}
	for _, p := range s.Properties {
		p.close()
	}
	for _, a := range s.AnyOf {
		a.close()
	}
	s.Items.close()
	if other, ok := s.Other.(*schema); ok {
		other.close()
	}
}
