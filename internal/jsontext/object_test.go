package jsontext

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
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
		list, ok := Members(text)
		keys, values, want := reference(text)
		if ok != want || ok && len(list) != len(keys) {
			t.Fatalf("%q: %t with %d members, want %t with %d", text, ok, len(list), want, len(keys))
		}
		for i, m := range list {
			if value := string(text[m.From:m.To]); m.Key != keys[i] || value != values[i] {
				t.Fatalf("%q: %q is %q, want %q, %q", text, m.Key, value, keys[i], values[i])
			}
		}
	})
}
