package settings

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestSchema checks which settings meet the schema.
func TestSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{}`: true,
		`{"$schema":"x","permissions":{"allow":["Read"],"defaultMode":"plan","additionalDirectories":["/a"]}}`: true,
		`{"permissions":{"alow":["Read"]}}`:      false,
		`{"permissions":{"allow":"Read"}}`:       false,
		`{"permissions":{"defaultMode":"fast"}}`: false,
		`{"reminder":true}`:                      true,
		`{"reminder":"off"}`:                     true,
		`{"reminder":{"exempt":["a*"]}}`:         true,
		`{"reminder":{"except":["a*"]}}`:         false,
		`{"reminder":1}`:                         false,
		`{"mcpServers":{"db":{"command":"db","args":["-x"],"timeout":5000,"env":{"A":"b"}}}}`:                  true,
		`{"mcpServers":{"db":{"comand":"db"}}}`:                                                                false,
		`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x","timeout":5}]}]}}`: true,
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":"prompt"}]}]}}`:                                             false,
		`{"classifier":{"command":"x","second":{"url":"http://127.0.0.1"}}}`:                                   true,
		`{"sandbox":{"network":"deny","caches":false}}`:                                                        true,
		`{"sandbox":{"network":"maybe"}}`:                                                                      false,
		`{"features":{"a":true,"b":"off"}}`:                                                                    true,
		`{"webSearch":{"provider":"brave","keyFile":"/k"}}`:                                                    true,
		`{"profiles":{"a":{"tools":["Read"],"mode":"plan"}}}`:                                                  true,
		`{"profiles":{"a":{"mode":"default"}}}`:                                                                false,
		`{"unknown":1}`:                                                                                        false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
