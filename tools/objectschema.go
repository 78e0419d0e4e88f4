package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/strictjson"
)

// MaxSchema is the limit of the text of an ObjectSchema, in bytes. MaxValue is that of a value
// that it checks.
const (
	MaxSchema = mostSchema
	MaxValue  = mostArguments
)

// ObjectSchema is a JSON Schema of an object that the user wrote: of draft 2020-12, or of
// draft 7 if $schema names it. Unlike the schema of an upstream server, it is checked completely
// before it is used.
type ObjectSchema struct {
	raw      json.RawMessage
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// NewObjectSchema parses a schema. The error names the place of the fault as a JSON pointer,
// such as #/properties/size. It rejects a schema that is not valid, whose root does not have the
// type "object", that no value meets, or that refers to itself or to anything except #/$defs
// and #/definitions. References are replaced by what they refer to, because some clients
// do not accept them.
func NewObjectSchema(text []byte) (*ObjectSchema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("it has %d bytes, and the most is %d", len(text), MaxSchema)
	}
	if err := strictjson.Check(text, maxCheckDepth); err != nil {
		return nil, errors.New(strictjson.Describe(err, "it"))
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	root, _ := tree.(map[string]any)
	if root["type"] != "object" {
		return nil, errors.New(`#/type: the type of the root is not "object"`)
	}
	_, draft7 := root["$schema"].(string)
	draft7 = draft7 && strings.Contains(root["$schema"].(string), "draft-07")
	delete(root, "$id") // references are local, so it has no effect
	w := &schemaWalk{root: root, draft7: draft7, followed: map[string]bool{}}
	if err := w.schema(root, "#"); err != nil {
		return nil, err
	}
	if whole, err := json.Marshal(root); err != nil || !ends(whole) {
		return nil, fmt.Errorf("#: with its references replaced it has more than %d values", mostNodes)
	}
	s := &ObjectSchema{raw: text}
	if w.refers {
		whole := w.inline(root).(map[string]any)
		delete(whole, "$defs")
		delete(whole, "definitions")
		var err error
		if s.raw, err = json.Marshal(whole); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(s.raw, &s.root); err != nil {
		return nil, fmt.Errorf("#: %w", err)
	}
	s.root.ID = ""
	if err := unmet(s.root, "#"); err != nil {
		return nil, err
	}
	var err error
	if s.resolved, err = s.root.Resolve(nil); err != nil {
		return nil, fmt.Errorf("#: %w", err)
	}
	// Some schemas are found to be unusable only with a value, such as those of an unknown draft.
	if err := s.resolved.Validate(map[string]any{}); err != nil && strings.Contains(err.Error(), "cannot validate version") {
		return nil, errors.New("#/$schema: only draft 2020-12 and draft 7 are supported")
	}
	return s, nil
}

// Check returns a *Fault unless raw is an object that meets the schema. The fault names the part of
// the value that does not.
func (s *ObjectSchema) Check(raw json.RawMessage) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := WellFormed(raw); err != nil {
		return err
	}
	if len(raw) > MaxValue {
		return fault.New(fmt.Sprintf("the arguments have %d bytes", len(raw)), fmt.Sprintf("The most is %d. Send less.", MaxValue))
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fault.New("the arguments are not valid JSON: "+err.Error(), "Send one JSON object.")
	}
	if err := s.resolved.Validate(value); err != nil {
		var f *Fault
		if known := (&schemaChecker{root: s.root}).check(value, s.root, "", 0); !errors.As(known, &f) {
			f = newFinder(s.root.Schema).locate(value, s.root, "", err)
		}
		return &Fault{Fact: longer(plain.Line(f.Fact)), Next: longer(plain.Line(f.Next))}
	}
	return nil
}
