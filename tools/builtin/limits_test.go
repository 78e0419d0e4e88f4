package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestLimitsAreTold checks that a model whose client leaves limits and defaults out of schemas reads
// them in the descriptions.
func TestLimitsAreTold(t *testing.T) {
	for _, tool := range List(Options{}) {
		raw, err := tool.InputSchema()
		if err != nil {
			t.Fatal(err)
		}
		var schema any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		checkTold(t, tool.Name, tool.Prompt, schema)
	}
}

// ample is the length or number from which a limit hardly matters to a model.
const ample = 100

func checkTold(t *testing.T, where, prompt string, schema any) {
	s, _ := schema.(map[string]any)
	text, _ := s["description"].(string)
	var untold []string
	tell := func(key string, in string) {
		if v, given := s[key]; given && !strings.Contains(in, fmt.Sprintf("%.0f", v)) {
			untold = append(untold, fmt.Sprintf("%s %.0f", key, v))
		}
	}
	if n, _ := s["maximum"].(float64); n != 65535 { // of ports
		tell("maximum", text)
	}
	for _, key := range []string{"maxLength", "maxItems"} {
		if n, _ := s[key].(float64); n < ample {
			tell(key, text+prompt)
		}
	}
	if n, _ := s["minimum"].(float64); n > 1 {
		tell("minimum", text)
	}
	switch d := s["default"].(type) {
	case string:
		if !strings.Contains(text, d) {
			untold = append(untold, "default "+d)
		}
	case bool:
		if d && !strings.Contains(text, "default true") {
			untold = append(untold, "default true")
		}
	case float64:
		if d != 0 {
			tell("default", text)
		}
	}
	if len(untold) > 0 {
		t.Errorf("%s: the description %q does not tell: %s", where, text, strings.Join(untold, ", "))
	}
	for _, key := range []string{"properties", "$defs"} {
		members, _ := s[key].(map[string]any)
		for name, member := range members {
			checkTold(t, where+"."+name, prompt, member)
		}
	}
	if items := s["items"]; items != nil {
		checkTold(t, where+"[]", prompt, items)
	}
}
