package pin

import (
	"encoding/json"
	"testing"
)

// TestStoredPins checks that the hash of an ordinary definition stays as it is
// in the files of users.
func TestStoredPins(t *testing.T) {
	raw := json.RawMessage(`{
  "name": "search_issues", "title": "Search issues",
  "description": "Finds issues & \u003cpull requests\u003e.\nReturns \"pages\" of 100 \u2014 caf\u00e9 \ud83d\ude00 C:\\x \/ \u0007",
  "inputSchema": {"type": "object", "required": ["query"], "additionalProperties": false, "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"query": {"type": "string", "minLength": 1}, "per_page": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1e2},
      "ratio": {"type": "number", "default": 1.0, "maximum": 12345678901234567890}, "perPage2": {"enum": [true, null, -0, 0.10]}, "\u00e9t\u00e9": {}, "": {}, "A": {}}},
  "annotations": {"readOnlyHint": true, "openWorldHint": false}, "_meta": {"x": 1}, "icons": []
}`)
	form, err := definition(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digest(form), "e219dea01fc1db8d4e31c7597b58205713bb00d058eb9dcf1a21ac1fbc443888"; got != want {
		t.Errorf("the hash is %s, want %s; form:\n%s", got, want, form)
	}
}
