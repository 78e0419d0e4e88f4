package tools_test

import (
	"encoding/json"
	"testing"

	"mcp-toolset/tools"
)

// TestForeignFaults checks that errors for arguments of an upstream tool are worded like
// our own, and that the library words the errors that only it understands.
func TestForeignFaults(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
		"message":{"type":"string","minLength":1,"maxLength":5},"n":{"type":["integer","null"],"minimum":1,"maximum":9},"how":{"enum":["fast","slow"]},
		"to":{"type":"array","items":{"$ref":"#/$defs/person"}},"when":{"type":"string","pattern":"^[0-9]+$"},"either":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"old":{"$ref":"#/$defs/flag"},"\u001b]0;x":{"type":"boolean"}},
		"$defs":{"person":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"flag":{"type":"boolean"}}}`
	const known = ` Known properties: \x1b]0;x, either, how, message, n, old, to, when.`
	tool := foreign(t, tools.Foreign{InputSchema: json.RawMessage(schema)})
	for args, want := range map[string]string{
		`{}`:                                     `required property "message" is missing. Add it.` + known,
		`{"mesage":"a"}`:                         `unknown property "mesage". Did you mean "message"?` + known,
		`{"message":5}`:                          `property "message" is 5. Send a string.`,
		`{"message":""}`:                         `property "message" is empty. Give it a value.`,
		`{"message":"abcdef"}`:                   `property "message" has 6 characters. The most is 5.`,
		`{"message":"a","n":1.5}`:                `property "n" is 1.5. Send a whole number or null.`,
		`{"message":"a","n":0}`:                  `property "n" is 0. The least is 1.`,
		`{"message":"a","n":10}`:                 `property "n" is 10. The most is 9.`,
		`{"message":"a","how":"never"}`:          `property "how" is "never". Use one of: fast, slow.`,
		`{"message":"a","to":"b"}`:               `property "to" is "b". Send an array.`,
		`{"message":"a","to":[{"name":"b"},{}]}`: `required property "to[1].name" is missing. Add it. Known properties: name.`,
		`{"message":"a","old":0}`:                `property "old" is 0. Send true or false.`,
		`{"message":"a","when":"now"}`:           `the arguments do not fit the tool's input schema: validating /properties/when: pattern: "now" does not match regular expression "^[0-9]+$". Correct them by the schema.`,
		`{"message":"a","\u001b]0;x":1}`:         `property "\x1b]0;x" is 1. Send true or false.`,
	} {
		if _, err := tool.Parse(json.RawMessage(args)); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", args, err, want)
		}
	}
}
