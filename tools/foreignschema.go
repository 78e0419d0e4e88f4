package tools

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"mcp-toolset/internal/text/fault"
)

// The schema of an upstream server is not trusted. The JSON Schema library follows endless
// references until the stack overflows, which ends the process, and follows references as
// often as they multiply. This file therefore limits the schemas that it uses.

// Limits above which only the upstream server checks the arguments.
const (
	mostSchema    = 256 << 10 // bytes of a schema
	mostArguments = 1 << 20   // bytes of arguments
	mostNodes     = 20_000    // values in a schema with all references expanded
)

// validator returns a function that checks arguments against a schema. It parses the schema
// on first use. A schema that cannot be used here is ignored, and only its server checks
// the arguments: one that is endless, refers to other schemas, or uses another draft.
func validator(schema json.RawMessage) func(json.RawMessage) error {
	resolve := sync.OnceValue(func() *jsonschema.Resolved {
		var s jsonschema.Schema
		if len(schema) > mostSchema || !ends(schema) || json.Unmarshal(schema, &s) != nil {
			return nil
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return nil
		}
		return resolved
	})
	return func(raw json.RawMessage) error {
		if len(raw) > mostArguments {
			return nil
		}
		resolved := resolve()
		if resolved == nil {
			return nil
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return fault.New("the arguments are not valid JSON: "+err.Error(), "Send one JSON object.")
		}
		if err := resolved.Validate(value); err != nil {
			return misfit(value, resolved.Schema(), err)
		}
		return nil
	}
}

// reference matches the references that are followed: those to a definition in the same
// schema.
var reference = regexp.MustCompile(`^#/(\$defs|definitions)/([A-Za-z0-9_.-]+)$`)

// otherReferences lists keywords that refer to other places, or change the target of other
// references.
var otherReferences = []string{"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$anchor", "$id", "id"}

// ends reports whether a schema with all references expanded is finite and has at most
// mostNodes values.
func ends(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	w := &writtenOut{root: root, sizes: map[string]int{}}
	return w.size(root) <= mostNodes
}

// writtenOut counts the values of a schema with its references expanded.
type writtenOut struct {
	root  map[string]any
	sizes map[string]int // sizes of definitions, by reference; endless while one is being counted
}

const endless = mostNodes + 1

// size returns the number of values in v, at most endless.
func (w *writtenOut) size(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n = min(n+w.size(item), endless)
		}
	case map[string]any:
		for _, key := range otherReferences {
			if _, text := v[key].(string); text {
				return endless
			}
		}
		if to, ok := v["$ref"].(string); ok {
			n += w.definition(to)
		}
		for _, item := range v {
			n = min(n+w.size(item), endless)
		}
	}
	return min(n, endless)
}

// definition returns the size of the target of a reference.
func (w *writtenOut) definition(to string) int {
	if n, known := w.sizes[to]; known {
		return n
	}
	w.sizes[to] = endless // a definition that refers to itself is endless
	m := reference.FindStringSubmatch(to)
	if m == nil {
		return endless
	}
	defs, _ := w.root[m[1]].(map[string]any)
	if defs[m[2]] == nil {
		return endless
	}
	w.sizes[to] = w.size(defs[m[2]])
	return w.sizes[to]
}
