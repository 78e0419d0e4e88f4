package tools

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// This file holds arguments against the schema of another server. The schema is
// not trusted: the library follows references without an end, on a stack whose
// overflow nothing survives, and as often as they multiply.

// Limits beyond which the other server alone judges.
const (
	mostSchema    = 256 << 10 // bytes of a schema
	mostArguments = 1 << 20   // bytes of arguments
	mostNodes     = 20_000    // values in a schema with all references written out
)

// validator holds arguments against a schema, made on first use. A schema that
// cannot be used here, because it has no end, refers to others or is of another
// draft, says nothing: its server judges.
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
			return notJSON(err)
		}
		if err := resolved.Validate(value); err != nil {
			return misfit(value, resolved.Schema(), err)
		}
		return nil
	}
}

// reference is one that is followed: to a definition of the same schema.
var reference = regexp.MustCompile(`^#/(\$defs|definitions)/([A-Za-z0-9_.-]+)$`)

// otherReferences are keywords that lead elsewhere, or change where others lead.
var otherReferences = []string{"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$anchor", "$id", "id"}

// ends reports whether a schema with all references written out has an end, and
// is not too large.
func ends(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	w := &writtenOut{root: root, sizes: map[string]int{}}
	return w.size(root) <= mostNodes
}

// writtenOut measures a schema with its references written out.
type writtenOut struct {
	root  map[string]any
	sizes map[string]int // of definitions, by reference; endless while one is measured
}

const endless = mostNodes + 1

// size is how many values there are, at most endless.
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

// definition is the size of what a reference leads to.
func (w *writtenOut) definition(to string) int {
	if n, known := w.sizes[to]; known {
		return n
	}
	w.sizes[to] = endless // leading back to itself it has no end
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
