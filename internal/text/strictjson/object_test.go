package strictjson

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference implements Members with the decoder of the standard library.
func reference(text []byte) (keys []string, values []string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, nil, false
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, nil, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, false
		}
		keys, values = append(keys, tok.(string)), append(values, string(value))
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, false
	}
	_, err := dec.Token()
	return keys, values, err == io.EOF
}

func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":1,"b":[1,{"c":"}"}],"d":{"e":[]}}`, `{"a" : "x\"y\\" , "a":null}`, `{"\u0061":-1.5e3 ,"":true}`, `[1]`, `"a"`, `1`, ``, `{`, `{"a"}`, `{"a":}`,
		`{"a":1}}`, `{"a":1} {}`, `{"a":1,}`, "{\"a\"\n:\t[ 1 , 2 ]\r\n}", `{"\ud800":"x"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Members(text)
		keys, values, want := reference(text)
		if (err == nil) != want || len(list) != len(keys) && want {
			t.Fatalf("%q: %v with %d members, want %t with %d", text, err, len(list), want, len(keys))
		}
		checkFields(t, text, list, err)
		for i, m := range list {
			if value := string(text[m.From:m.To]); m.Key != keys[i] || value != values[i] {
				t.Fatalf("%q: %q is %q, want %q, %q", text, m.Key, value, keys[i], values[i])
			}
		}
	})
}

// checkFields checks both Fields against the result of Members.
func checkFields(t *testing.T, text []byte, list []Member, listErr error) {
	fields, err := Fields(text)
	folded, foldErr := NewKeys("a", "bC").Fields(text)
	exact, similar := map[string]int{"a": 0, "bC": 0}, map[string]int{}
	for _, m := range list {
		exact[m.Key]++
	}
	for key := range exact {
		for other, n := range exact {
			if strings.EqualFold(key, other) && (n > 0 || key != other) {
				similar[key] += max(n, 1)
			}
		}
	}
	if !utf8.Valid(text) {
		listErr = newError(NotUTF8, nil, 0)
	}
	twice, alike := false, false
	for _, m := range list {
		twice = twice || exact[m.Key] > 1
		alike = alike || similar[m.Key] > 1
		if value, ok := folded[m.Key]; foldErr != nil && ok && (similar[m.Key] > 1 || string(value) != string(text[m.From:m.To])) {
			t.Fatalf("%q: the field %q is %q", text, m.Key, value)
		}
	}
	if (err == nil) != (listErr == nil && !twice) || err == nil && len(fields) != len(list) {
		t.Fatalf("%q: %v, %d fields", text, err, len(fields))
	}
	if (foldErr == nil) != (listErr == nil && !alike) || foldErr == nil && !reflect.DeepEqual(fields, folded) {
		t.Fatalf("%q: %v, %d fields", text, foldErr, len(folded))
	}
}

// TestFields checks the errors, and which fields are returned with them.
func TestFields(t *testing.T) {
	keys := NewKeys("method", "params")
	for _, c := range []struct{ text, plain, folded, fields string }{
		{`{"method":1,"x":[{"y":1,"y":2}]}`, "", "", `{"method":1,"x":[{"y":1,"y":2}]}`},
		{`{"Method":1,"id":2}`, "", `the key "Method" differs from "method" only by case`, `{"id":2}`},
		{`{"method":1,"Method":1,"id":2}`, "", `the key "Method" differs from "method" only by case`, `{"id":2}`},
		{`{"paramſ":1,"id":2}`, "", `the key "paramſ" differs from "params" only by case`, `{"id":2}`},
		{`{"x":1,"X":1,"id":2}`, "", `the key "X" differs from "x" only by case`, `{"id":2}`},
		{`{"id":1,"\u0069d":1,"id":3,"method":1}`, `the key "id" is given twice`, `the key "id" is given twice`, `{"method":1}`},
		{`[]`, "it is not an object", "it is not an object", `null`},
		{`{"a":1,}`, `it is not JSON: column 8: expected a quoted key, found "}"; remove the comma before it`, `it is not JSON: column 8: expected a quoted key, found "}"; remove the comma before it`, `null`},
		{"{\"a\":\"é\xff\"}", `it is not UTF-8`, `it is not UTF-8`, `null`},
	} {
		_, err := Fields([]byte(c.text))
		folded, foldErr := keys.Fields([]byte(c.text))
		fields, _ := json.Marshal(folded)
		if c.plain == "" {
			c.plain = "<nil>"
		}
		if c.folded == "" {
			c.folded = "<nil>"
		}
		if errorText(err) != c.plain || errorText(foldErr) != c.folded || string(fields) != c.fields {
			t.Errorf("%s: %v\n%v, %s", c.text, err, foldErr, fields)
		}
	}
}
