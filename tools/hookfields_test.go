package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestHookResponse checks that hooks get the output with further fields, each limited in
// size, and that no further field replaces one of the output.
func TestHookResponse(t *testing.T) {
	f := HookFields{"b": 2, "own": "not this"}
	f.Text("short", "x")
	f.Text("long", "x"+strings.Repeat("é", maxHookText))
	r := &Response{HookFields: func() HookFields { return f }, Structured: func() (json.RawMessage, error) { return json.RawMessage(`{"own":"this"}`), nil }}
	data, ok := r.HookResponse()
	var got struct {
		B         int
		Own       string
		Short     string
		Long      string
		Truncated []string
	}
	if err := json.Unmarshal(data, &got); err != nil || !ok {
		t.Fatal(err, ok)
	}
	if got.B != 2 || got.Own != "this" || got.Short != "x" || len(got.Long) != maxHookText-1 || strings.Join(got.Truncated, " ") != "long" {
		t.Errorf("%d %s %s %d %q", got.B, got.Own, got.Short, len(got.Long), got.Truncated)
	}
	r.HookFields = nil
	if data, ok := r.HookResponse(); string(data) != `{"own":"this"}` || !ok {
		t.Errorf("%s, %t", data, ok)
	}
	if _, ok := (&Response{}).HookResponse(); ok {
		t.Error("an error has an output")
	}
}
