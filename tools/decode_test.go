package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

type sample struct {
	Path  string   `json:"path" minLength:"1" jsonschema:"A path"`
	Limit int      `json:"limit,omitempty" minimum:"1" maximum:"100" jsonschema:"A limit"`
	Ratio float64  `json:"ratio,omitempty" jsonschema:"A ratio"`
	Deep  *bool    `json:"deep,omitempty" jsonschema:"A switch"`
	Mode  string   `json:"mode,omitempty" enum:"fast,slow" jsonschema:"A mode"`
	Tags  []string `json:"tags,omitempty" minItems:"1" maxItems:"3" jsonschema:"Tags"`
	Items []item   `json:"items,omitempty" jsonschema:"Items"`
}

type item struct {
	Name string `json:"name" maxLength:"4" jsonschema:"A name"`
	N    int    `json:"n,omitempty" jsonschema:"A number"`
}

func decodeSample(raw string) (sample, error) {
	s, err := makeSchemas[sample, struct{}]("Sample", nil, nil)
	if err != nil {
		return sample{}, err
	}
	var in sample
	err = decodeArguments(json.RawMessage(raw), s.in, &in)
	return in, err
}

func TestDecodeAccepts(t *testing.T) {
	yes := true
	for raw, want := range map[string]sample{
		`{"path":"a"}`:                                  {Path: "a"},
		` { "path" : "a" , "limit" : 10 } `:             {Path: "a", Limit: 10},
		`{"path":"a","limit":"10"}`:                     {Path: "a", Limit: 10},
		`{"path":"a","limit":" 10 "}`:                   {Path: "a", Limit: 10},
		`{"path":"a","limit":10.0}`:                     {Path: "a", Limit: 10},
		`{"path":"a","limit":1e1}`:                      {Path: "a", Limit: 10},
		`{"path":"a","limit":"1e1"}`:                    {Path: "a", Limit: 10},
		`{"path":"a","limit":null}`:                     {Path: "a"},
		`{"path":"a","deep":true}`:                      {Path: "a", Deep: &yes},
		`{"path":"a","deep":"true"}`:                    {Path: "a", Deep: &yes},
		`{"path":"a","deep":null,"tags":null}`:          {Path: "a"},
		`{"path":"a","ratio":"0.5"}`:                    {Path: "a", Ratio: 0.5},
		`{"path":"a","mode":"slow"}`:                    {Path: "a", Mode: "slow"},
		`{"path":"a","tags":["x","y"]}`:                 {Path: "a", Tags: []string{"x", "y"}},
		`{"path":"a","items":[{"name":"x","n":"3"}]}`:   {Path: "a", Items: []item{{"x", 3}}},
		`{"path":"\ud83d\ude00 \\ud800 \u0000 line\n"}`: {Path: "😀 \\ud800 \x00 line\n"},
		`{"path":"<&>\u2028"}`:                          {Path: "<&>\u2028"},
		`{"path":"10","limit":1}`:                       {Path: "10", Limit: 1},
		`{"path":"a","tags":" [\"x\"] "}`:               {Path: "a", Tags: []string{"x"}},
		`{"path":"a","items":"[{\"name\":\"x\"}]"}`:     {Path: "a", Items: []item{{"x", 0}}},
		`{"path":"a","items":["{\"name\":\"x\"}"]}`:     {Path: "a", Items: []item{{"x", 0}}},
	} {
		got, err := decodeSample(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

// TestDecodeRefuses checks every error text of this file that a model can see.
func TestDecodeRefuses(t *testing.T) {
	const known = "Known properties: path, limit, ratio, deep, mode, tags, items."
	for raw, want := range map[string]string{
		`{"path":"a","tags":[]}`:                                  `property "tags" has 0 items. The least is 1.`,
		`{"path":"a","tags":["","","",""]}`:                       `property "tags" has 4 items. The most is 3.`,
		`{"path":"a","items":[{"name":"éééé"},{"name":"ééééé"}]}`: `property "items[1].name" has 5 characters. The most is 4.`,
		``:                                           `required property "path" is missing. Add it. ` + known,
		`null`:                                       `required property "path" is missing. Add it. ` + known,
		`{}`:                                         `required property "path" is missing. Add it. ` + known,
		`{"path":null}`:                              `property "path" is null. Send a string.`,
		`{"path":""}`:                                `property "path" is empty. Give it a value.`,
		`{"path":5}`:                                 `property "path" is 5. Send a string.`,
		`{"path":["a"]}`:                             `property "path" is ["a"]. Send a string.`,
		`{"path":"a","pth":1}`:                       `unknown property "pth". Did you mean "path"? ` + known,
		`{"path":"a","Path":"b"}`:                    `unknown property "Path". Did you mean "path"? ` + known,
		`{"path":"a","zzz":1}`:                       `unknown property "zzz". ` + known,
		`{"path":"a","path":"b"}`:                    `property "path" is given twice. Give it once.`,
		`{"path":"a","limit":null,"limit":1}`:        `property "limit" is given twice. Give it once.`,
		`{"path":"a","limit":"ten"}`:                 `property "limit" is "ten". Send a whole number.`,
		`{"path":"a","limit":"0x10"}`:                `property "limit" is "0x10". Send a whole number.`,
		`{"path":"a","limit":""}`:                    `property "limit" is "". Send a whole number.`,
		`{"path":"a","limit":"inf"}`:                 `property "limit" is "inf". Send a whole number.`,
		`{"path":"a","limit":1.5}`:                   `property "limit" is 1.5. Send a whole number.`,
		`{"path":"a","limit":true}`:                  `property "limit" is true. Send a whole number.`,
		`{"path":"a","limit":0}`:                     `property "limit" is 0. The least is 1.`,
		`{"path":"a","limit":101}`:                   `property "limit" is 101. The most is 100.`,
		`{"path":"a","limit":1e300}`:                 `property "limit" is out of range: 1e300. Send a smaller number.`,
		`{"path":"a","ratio":"x"}`:                   `property "ratio" is "x". Send a number.`,
		`{"path":"a","deep":1}`:                      `property "deep" is 1. Send true or false.`,
		`{"path":"a","deep":"yes"}`:                  `property "deep" is "yes". Send true or false.`,
		`{"path":"a","mode":"fsat"}`:                 `property "mode" is "fsat". Use one of: fast, slow.`,
		`{"path":"a","tags":"x"}`:                    `property "tags" is "x". Send an array.`,
		`{"path":"a","tags":"[\"x\",]"}`:             `property "tags" is "[\"x\",]". Send an array.`,
		`{"path":"a","tags":"[1]"}`:                  `property "tags[0]" is 1. Send a string.`,
		`{"path":"a","items":"[{\"n\":1,\"n\":2}]"}`: `property "items" is "[{\"n\":1,\"n\":2}]". Send an array.`,
		`{"path":"a","tags":[1]}`:                    `property "tags[0]" is 1. Send a string.`,
		`{"path":"a","items":[{"nme":"x"}]}`:         `unknown property "items[0].nme". Did you mean "name"? Known properties: name, n.`,
		`{"path":"a","items":[{"n":1}]}`:             `required property "items[0].name" is missing. Add it. Known properties: name, n.`,
		`{"path":"a","items":[5]}`:                   `property "items[0]" is 5. Send an object.`,
		`[1]`:                                        `the arguments are not an object. Send a JSON object.`,
		`"x"`:                                        `the arguments are not an object. Send a JSON object.`,
		`{"path":"a"} {}`:                            `the arguments go on after their closing brace. Send one JSON object.`,
		`{"path":`:                                   `the arguments are not valid JSON: column 9: the text ends too early; a quote or bracket is not closed. Send one JSON object.`,
		"{\"path\":\"\xff\"}":                        `the arguments are not valid UTF-8. Send text as UTF-8.`,
		`{"path":"\ud800"}`:                          `the arguments hold half of a surrogate pair, \ud800. Send the whole character, or leave it out.`,
		`{"path":"\udc00x"}`:                         `the arguments hold half of a surrogate pair, \udc00. Send the whole character, or leave it out.`,
		`{"path":"\ud800\ud800"}`:                    `the arguments hold half of a surrogate pair, \ud800. Send the whole character, or leave it out.`,
		`{"path":` + strings.Repeat("[", 90) + `}`:   `the arguments are not valid JSON: column 99: expected a value, found "}". Send one JSON object.`,
		`{"` + strings.Repeat("k", 90) + `":1}`:      `unknown property "` + strings.Repeat("k", 59) + `…. ` + known,
	} {
		_, err := decodeSample(raw)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
}

// FuzzDecode checks that no arguments cause a panic, and that accepted ones decode as
// encoding/json decodes their tolerated form.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"path":"a","limit":"10"}`, `{"path":"a","path":1}`, `{"path":"\ud800"}`, `[[[[`, `{"a":{"b":[1,{}]}}`,
		`{"path":"a","items":[{"name":"x"}]}`, "{\"path\":\"\x00\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		in, err := decodeSample(raw)
		if err != nil {
			return
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeSample(string(again))
		if in.Path == "" || err != nil {
			t.Fatalf("%q was accepted as %+v, which is refused as %s: %v", raw, in, again, err)
		}
		if diff := cmp.Diff(in, back, cmp.Transformer("len", func(s []string) int { return len(s) }), cmp.Transformer("len", func(s []item) int { return len(s) })); diff != "" {
			t.Fatalf("%q decodes differently the second time:\n%s", raw, diff)
		}
	})
}

// TestIDs checks that a number for an id is taken, and for another string is not.
func TestIDs(t *testing.T) {
	for at, want := range map[string]bool{
		"id": true, "task_id": true, "taskId": true, "items[0].id": true, "since": true, "addBlockedBy[2]": true, "shell_id": true,
		"path": false, "valid": false, "hid": false, "since_when": false, "content": false,
	} {
		if isID(at) != want {
			t.Errorf("%s: %v", at, !want)
		}
	}
}

// TestOtherHosts checks the errors for properties that tools of other hosts have.
func TestOtherHosts(t *testing.T) {
	for name, want := range map[string]string{
		"workdir":  `unknown property "workdir". Begin the command with cd and the folder. Known properties: command, timeout.`,
		"dir_path": `unknown property "dir_path". Begin the command with cd and the folder. Known properties: command, timeout.`,
		"cmd":      `unknown property "cmd". Did you mean "command"? Known properties: command, timeout.`,
		"restart":  `unknown property "restart". Known properties: command, timeout.`,
	} {
		s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"command": {}, "timeout": {}}}
		if got := unknownProperty(name, s, "").Error(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
