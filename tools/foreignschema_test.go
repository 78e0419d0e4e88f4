package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/tools"
)

// TestEndlessSchemas checks that an endless or exploding schema neither ends the process
// nor takes long; its server checks the arguments. A finite schema is enforced.
func TestEndlessSchemas(t *testing.T) {
	var doubling strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	for _, c := range []struct {
		schema string
		held   bool // whether {"a":1} is rejected
	}{
		{`{"type":"object","$ref":"#"}`, false},
		{`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, false},
		{`{"type":"object","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, false},
		{`{"type":"object","$ref":"#/allOf/0","allOf":[{"$ref":"#/allOf/0"}]}`, false},
		{`{"type":"object","$dynamicRef":"#a","$dynamicAnchor":"a"}`, false},
		{`{"type":"object","$id":"x:a","allOf":[{"$ref":"x:a"}]}`, false},
		{`{"type":"object","$ref":"#/$defs/d0","$defs":{` + doubling.String() + `"d60":{"required":["b"]}}}`, false},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, false},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"$ref":"#/$defs/s"},"s":{"type":"string"}}}`, true},
		{`{"type":"object","properties":{"a":{"$ref":"#/definitions/t"},"b":{"$ref":"#/definitions/t"}},"definitions":{"t":{"type":"string"}}}`, true},
		{`{"type":"object","properties":{"$ref":{"type":"string"},"id":{"type":"string"},"a":{"type":"string"}}}`, true},
	} {
		_, err := foreign(t, tools.Foreign{InputSchema: json.RawMessage(c.schema)}).Parse(json.RawMessage(`{"a":1}`))
		if (err != nil) != c.held {
			t.Errorf("%.200s: %v", c.schema, err)
		}
	}
	strict := foreign(t, tools.Foreign{InputSchema: json.RawMessage(`{"type":"object","required":["b"]}`)})
	if _, err := strict.Parse(json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)); err != nil {
		t.Errorf("large arguments are their server's to judge: %v", err)
	}
}
