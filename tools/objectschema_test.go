package tools

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestObjectSchema(t *testing.T) {
	for _, tc := range []struct{ schema, want string }{
		{`{"type":"object"}`, ""},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, ""},
		{`{"$id":"https://example.com/x","type":"object","x-more":{"any":1},"properties":{"id":{"type":"integer"}}}`, ""},
		{`{"type":"object","properties":{"a":false}}`, ""}, // an optional property that must be absent
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"type":"string"}]}}}`, ""},
		{`{"type":"object","properties":{"a":{"not":{"not":{}}}},"required":["a"]}`, ""},
		// Values of another type meet these.
		{`{"type":"object","required":["x"],"additionalProperties":{"not":{"type":"string"}}}`, ""},
		{`{"type":"object","required":["x"],"properties":{"x":{"minLength":2,"maxLength":1,"minItems":2,"maxItems":1,"minProperties":2,"maxProperties":1,"minimum":2,"maximum":1}}}`, ""},
		{`{"type":"object","required":["x"],"properties":{"x":{"required":["y"],"properties":{"y":false}}}}`, ""},
		{`{"type":"object","required":["x"],"properties":{"x":{"minItems":1,"items":false}}}`, ""},
		{`{"type":"object","required":["x"],"properties":{"x":{"const":["a",1],"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, ""},
		{`{"type":"object","required":["x","x"],"maxProperties":1}`, ""},
		{`{"type":"object","required":["x"],"properties":{"x":{"const":{"y":1},"additionalProperties":{"not":{"type":"string"}}}}}`, ""},

		{``, "it is not JSON: nothing is there"},
		{`{"type":"object",}`, `it is not JSON: column 18: expected a quoted key, found "}"; remove the comma before it`},
		{`{"type":"object","type":"object"}`, `the key "type" is given twice`},
		{`[]`, `#/type: the type of the root is not "object"`},
		{`{}`, `#/type: the type of the root is not "object"`},
		{`{"type":["object","null"]}`, `#/type: the type of the root is not "object"`},
		{`{"type":"object","properties":{"a/b":{"type":"strin"}}}`, `#/properties/a~1b/type: there is no type "strin"; the types are array, boolean, integer, null, number, object, string`},
		{`{"type":"object","properties":{"a":{"type":[]}}}`, `#/properties/a/type: there is no type ""; the types are array, boolean, integer, null, number, object, string`},
		{`{"type":"object","properties":{"a":{"minLength":"1"}}}`, `#/properties/a/minLength: the keyword does not take this value`},
		{`{"type":"object","properties":{"a":{"enum":[]}}}`, `#/properties/a/enum: the keyword does not take this value`},
		{`{"type":"object","properties":["a"]}`, `#/properties: it is not an object`},
		{`{"type":"object","properties":{"a":"string"}}`, `#/properties/a: a schema is an object, true or false`},
		{`{"type":"object","required":"a"}`, `#/required: the keyword does not take this value`},
		{`{"type":"object","anyOf":[]}`, `#/anyOf: it is not a list of schemas`},
		{`{"type":"object","allOf":[{"items":[{}]}]}`, `#/allOf/0/items: a schema is an object, true or false`},
		{`{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, "#/properties/a/pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`; patterns have the syntax of RE2"},
		{`{"type":"object","patternProperties":{"(":{}}}`, "#/patternProperties/(: error parsing regexp: missing closing ): `(`; patterns have the syntax of RE2"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`, `#/properties/a/$ref: there is no "#/$defs/b"; only definitions below #/$defs and #/definitions can be referred to`},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`, `#/properties/a/$ref: there is no "https://example.com/x"; only definitions below #/$defs and #/definitions can be referred to`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`, `#/$defs/a/items/$ref: the schema refers to itself, which is not supported`},
		{`{"type":"object","properties":{"a":{"$anchor":"x"}}}`, `#/properties/a/$anchor: the keyword is not supported`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "#/$schema: only draft 2020-12 and draft 7 are supported"},
		{`{"type":"object","description":"` + strings.Repeat("x", MaxSchema) + `"}`, "it has 262178 bytes, and the most is 262144"},
		{`{"type":"object","$defs":{` + doubling(20) + `}}`, "#: with its references replaced it has more than 20000 values"},

		{`{"type":"object","not":{}}`, "#: no value meets it"},
		{`{"type":"object","properties":{"a":false},"required":["a"]}`, "#/properties/a: no value meets it"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"],"$defs":{"a":{"type":"string","minLength":3,"maxLength":2}}}`, "#/properties/a/minLength: no value meets it: 3 is more than maxLength, 2"},
		{`{"type":"object","properties":{"a":{"type":"array","minItems":1,"items":{"type":"number","minimum":3,"maximum":2}}},"required":["a"]}`, "#/properties/a/items/minimum: no value meets it: 3 is more than maximum, 2"},
		{`{"type":"object","properties":{"a":{"type":"string","enum":[1,2]}},"required":["a"]}`, "#/properties/a/enum: no value meets it: none of these fits the rest of the schema"},
		{`{"type":"object","properties":{"a":{"type":"string","const":1}},"required":["a"]}`, "#/properties/a/const: no value meets it: none of these fits the rest of the schema"},
		{`{"type":"object","properties":{"a":{}},"required":["b"],"additionalProperties":false}`, `#/required: no value meets it: "b" is required, and additionalProperties excludes it`},
		{`{"type":"object","allOf":[{"type":"string"}]}`, `#/allOf/0/type: no value meets it: the type is also object`},
		{`{"type":"object","anyOf":[false,{"not":true}]}`, `#/anyOf/0: no value meets it`},
	} {
		_, err := NewObjectSchema([]byte(tc.schema))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%.200s\ngot  %s\nwant %s", tc.schema, got, tc.want)
		}
	}
}

// doubling returns definitions each of which has the one before it twice.
func doubling(n int) string {
	text := `"d0":{}`
	for i := range n {
		text += `,"d` + string(rune('a'+i)) + `":{"allOf":[{"$ref":"#/$defs/`
		before := "d0"
		if i > 0 {
			before = "d" + string(rune('a'+i-1))
		}
		text += before + `"},{"$ref":"#/$defs/` + before + `"}]}`
	}
	return text
}

// TestObjectSchemaInline checks that references are replaced in what clients get.
func TestObjectSchemaInline(t *testing.T) {
	s, err := NewObjectSchema([]byte(`{"type":"object","properties":{
		"a":{"$ref":"#/$defs/a","description":"own"},"b":{"$ref":"#/$defs/a","maxLength":9},"c":{"$ref":"#/$defs/c"},"$ref":{"type":"string"},
		"$defs":{"type":"integer"},"d":{"const":{"$ref":"#/$defs/a"}}},
		"$defs":{"a":{"type":"string","description":"common"},"c":{"items":{"$ref":"#/$defs/a"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{"$defs":{"type":"integer"},"$ref":{"type":"string"},"a":{"description":"own","type":"string"},` +
		`"b":{"allOf":[{"description":"common","type":"string"}],"maxLength":9},"c":{"items":{"description":"common","type":"string"}},` +
		`"d":{"const":{"$ref":"#/$defs/a"}}},"type":"object"}`
	if string(s.raw) != want {
		t.Errorf("%s\nwant %s", s.raw, want)
	}
}

func TestObjectSchemaCheck(t *testing.T) {
	s, err := NewObjectSchema([]byte(`{"type":"object","required":["name"],"additionalProperties":false,"properties":{
		"name":{"type":"string","pattern":"^[a-z]+$"},
		"size":{"type":"integer","multipleOf":5,"maximum":100},
		"list":{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/item"}},
		"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},
		"one":{"oneOf":[{"minimum":1},{"minimum":2}]},
		"more":{"exclusiveMinimum":1,"exclusiveMaximum":2},
		"no":{"not":{"type":"string"}},
		"fixed":{"const":3}},
		"$defs":{"item":{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^x"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const next = " Correct it by the tool's input schema."
	for _, tc := range []struct{ value, want string }{
		{`{"name":"a","size":5,"list":[{"id":"x","more":12345678901234567890}],"either":1}`, ""},
		{``, `required property "name" is missing. Add it. Known properties: either, fixed, list, more, name, no, one, size.`},
		{`{"name":1}`, `property "name" is 1. Send a string.`},
		{`{"name":"a","size":"5"}`, `property "size" is "5". Send a whole number.`},
		{`{"name":"a","size":105}`, `property "size" is 105. The most is 100.`},
		{`{"name":"a","nam":1}`, `unknown property "nam". Did you mean "name"? Known properties: either, fixed, list, more, name, no, one, size.`},
		{`{"name":"A"}`, `property "name" does not fit the input schema: pattern: "A" does not match regular expression "^[a-z]+$".` + next},
		{`{"name":"a","size":7}`, `property "size" does not fit the input schema: multipleOf: it is not a multiple of 5.` + next},
		{`{"name":"a","list":[]}`, `property "list" does not fit the input schema: minItems: array length 0 is less than 1.` + next},
		{`{"name":"a","list":[{"id":"x"},{}]}`, `required property "list[1].id" is missing. Add it. Known properties: id.`},
		{`{"name":"a","list":[{"id":"x"},{"id":"y"}]}`, `property "list[1].id" does not fit the input schema: pattern: "y" does not match regular expression "^x".` + next},
		{`{"name":"a","either":true}`, `property "either" does not fit the input schema: anyOf: it fits none of the alternatives.` + next},
		{`{"name":"a","one":3}`, `property "one" does not fit the input schema: oneOf: it fits none of the alternatives, or more than one.` + next},
		{`{"name":"a","more":1}`, `property "more" does not fit the input schema: exclusiveMinimum: it is not more than 1.` + next},
		{`{"name":"a","more":2}`, `property "more" does not fit the input schema: exclusiveMaximum: it is not less than 2.` + next},
		{`{"name":"a","no":"x"}`, `property "no" does not fit the input schema: not: it is what the schema excludes.` + next},
		{`{"name":"a","fixed":4}`, `property "fixed" does not fit the input schema: const: it is not 3.` + next},
		{`{"name":"a","name":"b"}`, `property "name" is given twice. Give it once.`},
		{`[]`, `the arguments are not an object. Send a JSON object.`},
		{`{"name":"` + strings.Repeat("a", MaxValue) + `"}`, `the arguments have 1048587 bytes. The most is 1048576. Send less.`},
	} {
		got := ""
		if err := s.Check(json.RawMessage(tc.value)); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%.200s\ngot  %s\nwant %s", tc.value, got, tc.want)
		}
	}
}

// TestObjectSchemaLocate checks that the fault of a value names the smallest part that does not fit, in plain words.
func TestObjectSchemaLocate(t *testing.T) {
	for _, tc := range []struct{ schema, value, want string }{
		{`"properties":{"n":{"$ref":"#/$defs/pos","minimum":0}},"$defs":{"pos":{"exclusiveMinimum":0}}`, `{"n":0}`, `property "n" does not fit the input schema: exclusiveMinimum: it is not more than 0`},
		{`"properties":{"n":{"allOf":[{"multipleOf":3}]}}`, `{"n":1}`, `property "n" does not fit the input schema: multipleOf: it is not a multiple of 3`},
		{`"additionalProperties":{"exclusiveMaximum":0}`, `{"n":0}`, `property "n" does not fit the input schema: exclusiveMaximum: it is not less than 0`},
		{`"patternProperties":{"^x":{"multipleOf":2}}`, `{"xa":1}`, `property "xa" does not fit the input schema: multipleOf: it is not a multiple of 2`},
		{`"patternProperties":{"^x":{}},"additionalProperties":false`, `{"xa":1,"y":2}`, `property "y" is not allowed`},
		{`"additionalProperties":{"items":{"properties":{"a":{"pattern":"^x"}}}}`, `{"n":[{"a":"x"},{"a":"y"}]}`, `property "n[1].a" does not fit the input schema: pattern: "y" does not match regular expression "^x"`},
		{`"additionalProperties":{"type":"string"}`, `{"n":1}`, `property "n" is 1`},
		{`"additionalProperties":{"required":["a"]}`, `{"n":{}}`, `required property "n.a" is missing`},
		{`"properties":{"n":{"if":{"minimum":5},"then":{"multipleOf":5},"else":{"multipleOf":2}}}`, `{"n":1}`, `property "n" does not fit the input schema: multipleOf: it is not a multiple of 2`},
		{`"properties":{"n":{"if":{"minimum":5},"then":{"multipleOf":5}}}`, `{"n":6}`, `property "n" does not fit the input schema: multipleOf: it is not a multiple of 5`},
		{`"properties":{"n":{"if":true,"then":false}}`, `{"n":6}`, `property "n" is not allowed`},
		{`"properties":{"n":{"contains":{"const":1}}}`, `{"n":[2]}`, `property "n" does not fit the input schema: contains: no item fits`},
		{`"properties":{"n":{"prefixItems":[{"const":1}],"items":{"const":2}}}`, `{"n":[1,1]}`, `property "n[1]" does not fit the input schema: const: it is not 2`},
		{`"properties":{"n":{"enum":[{"a":1},2]}}`, `{"n":{}}`, `property "n" does not fit the input schema: enum: it is none of [{"a":1},2]`},
		{`"properties":{"n":{"propertyNames":{"pattern":"^x"}}}`, `{"n":{"y":1}}`, `property "n" does not fit the input schema: propertyNames: the name "y" does not fit`},
		{`"dependentRequired":{"n":["m"]}`, `{"n":1}`, `the value does not fit the input schema: dependentRequired: it does not fit`},
		{`"dependentSchemas":{"n":{"properties":{"m":{"multipleOf":2}}}}`, `{"n":1,"m":1}`, `property "m" does not fit the input schema: multipleOf: it is not a multiple of 2`},
		{`"properties":{"a":true},"unevaluatedProperties":{"multipleOf":2}`, `{"n":1}`, `the value does not fit the input schema: a part of it does not fit`},
		{`"$schema":"http://json-schema.org/draft-07/schema#","properties":{"n":{"items":[{"const":1}],"additionalItems":{"multipleOf":2}}}`, `{"n":[1,3]}`, `property "n[1]" does not fit the input schema: multipleOf: it is not a multiple of 2`},
		{`"$schema":"http://json-schema.org/draft-07/schema#","properties":{"n":{"prefixItems":[{"const":2}],"items":{"multipleOf":2}}}`, `{"n":[4,3]}`, `property "n[1]" does not fit the input schema: multipleOf: it is not a multiple of 2`},
	} {
		s, err := NewObjectSchema([]byte(`{"type":"object",` + tc.schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(json.RawMessage(tc.value)); err == nil || !strings.HasPrefix(err.Error(), tc.want+".") {
			t.Errorf("%s %s\ngot  %v\nwant %s", tc.schema, tc.value, err, tc.want)
		}
	}
}

// TestObjectSchemaLocateMany checks that the schema of items is resolved once, and that the search
// ends at its deadline with the part reached.
func TestObjectSchemaLocateMany(t *testing.T) {
	s, err := NewObjectSchema([]byte(`{"type":"object","properties":{"list":{"items":{"not":{"const":2}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 5000)
	list[4999] = 2.0
	value := map[string]any{"list": list}
	found := s.resolved.Validate(value)
	f := newFinder("")
	f.end = time.Now().Add(time.Hour)
	if got := f.locate(value, s.root, "", found); got.Fact != `property "list[4999]" does not fit the input schema: not: it is what the schema excludes` || len(f.resolved) != 2 {
		t.Errorf("%v, %d schemas resolved", got, len(f.resolved))
	}
	f = newFinder("")
	f.end = time.Now().Add(-1)
	if got := f.locate(value, s.root, "", found); got.Fact != `the value does not fit the input schema: a part of it does not fit` {
		t.Error(got)
	}
}

// FuzzObjectSchema checks that Check does not panic.
func FuzzObjectSchema(f *testing.F) {
	for _, schema := range []string{`"allOf":[{"properties":{"a":{"multipleOf":3}}}]`, `"if":{},"then":{"maxProperties":0}`, `"additionalProperties":{"exclusiveMinimum":0,"multipleOf":0}`, `"anyOf":[{"contains":{}}],"const":{}`} {
		f.Add(`{"type":"object",`+schema+`}`, `{"a":1,"b":[0]}`)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := NewObjectSchema([]byte(schema))
		if err != nil {
			return
		}
		if err := s.Check(json.RawMessage(value)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	})
}
